"""Permissions that let too many in go, and nothing that is required goes with them, on random networks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from sgaudit.errors import EmptySelectionError, UsageError
from sgaudit.fix import tighten
from sgaudit.fix.plan import Safety, Strategy
from sgaudit.model import Family
from sgaudit.ports import PortSet
from sgaudit.reach.verdict import Verdict
from sgaudit.rules.audit import Audit
from tests.apply_raw import SIDES, singles
from tests.properties.test_exposure import published
from tests.properties.test_fix import PROTOCOLS, RUN, Difference, Facts, Question, Trial, audited, network_of

QUICK, FULL, CHUNK = 40, 1240, 200
RULES = {rule.id for rule in tighten.RULES}


def tidy(document: dict[str, Any], *, identified: bool) -> dict[str, Any]:
    """Give each rule of each group once and with its group's id, as EC2 does, and with rule ids if asked to."""
    rules: list[dict[str, Any]] = []
    groups = document.get("SecurityGroups") or ()
    ids = {(group["VpcId"], group["GroupName"]): group["GroupId"] for group in groups}
    for group in groups:
        for egress, side in SIDES.items():
            for row in group.get(side) or ():
                for pair in row.get("UserIdGroupPairs") or ():
                    if "GroupName" in pair:
                        pair["GroupId"] = ids[group["VpcId"], pair.pop("GroupName")]
            unique = dict(item for row in group.get(side) or () for item in singles(row))
            group[side] = list(unique.values())
            rules += [
                rule_of(group["GroupId"], one, len(rules) + n, egress=egress) for n, one in enumerate(group[side])
            ]
    if identified:
        document["SecurityGroupRules"] = rules
    return document


def rule_of(group_id: str, row: dict[str, Any], number: int, *, egress: bool) -> dict[str, Any]:
    """Give a row with one peer as DescribeSecurityGroupRules does."""
    rule = {"SecurityGroupRuleId": f"sgr-{number}", "GroupId": group_id, "IsEgress": egress}
    rule |= {key: row[key] for key in ("IpProtocol", "FromPort", "ToPort") if key in row}
    if row.get("IpRanges"):
        return {**rule, "CidrIpv4": row["IpRanges"][0]["CidrIp"]}
    if row.get("Ipv6Ranges"):
        return {**rule, "CidrIpv6": row["Ipv6Ranges"][0]["CidrIpv6"]}
    if row.get("PrefixListIds"):
        return {**rule, "PrefixListId": row["PrefixListIds"][0]["PrefixListId"]}
    return {**rule, "ReferencedGroupInfo": row["UserIdGroupPairs"][0]}


class Tightened(Trial):
    """A plan that takes permissions away, and what it is held against."""

    def differences(self) -> Iterator[Difference]:
        yield from self.only_what_was_flagged()
        yield from self.lost()
        yield from self.changes()
        yield from self.afterwards()

    def revoked(self) -> set[str]:
        operations = self.document["operations"]
        return {item["params"]["GroupId"] for item in operations if item["api"] == "RevokeSecurityGroupIngress"}

    def only_what_was_flagged(self) -> Iterator[Difference]:
        """What goes was flagged, by its very row, what stays is as it was, and all of it is said to be unsafe."""
        named = {
            (item["protocol"], item["from_port"], item["to_port"], item["peer"], finding.resource.id)
            for finding in self.judged.active
            if finding.rule in RULES and finding.severity.rank > 0
            for item in finding.evidence["permissions"]
        }
        for name, group in (self.judged.snapshot.security_groups or {}).items():
            now = (audited(self.after.document, self.seed).snapshot.security_groups or {})[name]
            left = {(row.protocol, row.ports, str(row.peer)) for row in now.ingress}
            for row in group.ingress:
                key = (row.protocol, row.from_port, row.to_port, str(row.peer), name)
                if (row.protocol, row.ports, str(row.peer)) not in left and key not in named:
                    yield "took what nobody flagged", key
        order = [item["api"] == "RevokeSecurityGroupIngress" for item in self.document["operations"]]
        if order != sorted(order):
            yield "revokes before it adds", order
        for operation in self.plan.operations:
            if operation.call.api == "RevokeSecurityGroupIngress" and operation.safety is not Safety.UNSAFE:
                yield "safe", operation.reason

    def lost(self) -> Iterator[Difference]:
        """Nothing that is required is closed, and nothing at all but at groups that were tightened."""
        for family in Family:
            for protocol in PROTOCOLS[family]:
                for source, target in self.before.pairs():
                    question = (source, target, family, protocol)
                    gone = self.before.ports(question) - self.after.ports(question)
                    if gone and family is self.family and gone & self.required(source, target, protocol):
                        yield "closed what is required", question, str(gone)

    def closed(self, question: Question, gone: PortSet) -> Iterator[Difference]:
        if gone and not self.revoked() & set(self.groups(question[1]) or ()):
            yield "closed elsewhere", question, str(gone)

    def afterwards(self) -> Iterator[Difference]:
        """The counts are those of a scan afterwards, and neither what is left nor what is new is flagged."""
        again = audited(self.after.document, self.seed)
        counts = {str(verdict): again.counts[verdict] for verdict in Verdict}
        if counts != dict(self.plan.after):
            yield "counts", counts, dict(self.plan.after)
        was = {(flag.group_id, str(flag.permission.peer), flag.permission.ports) for flag in self.flags(self.judged)}
        now = {(flag.group_id, str(flag.permission.peer), flag.permission.ports) for flag in self.flags(again)}
        if now - was:
            yield "flagged anew", now - was
        if not self.plan.unfixable:
            if now:
                yield "still flagged", now
            if rest := tighten.plan(again, RUN).operations:
                yield "second plan", [operation.reason for operation in rest]

    @staticmethod
    def flags(judged: Audit) -> list[tighten.Flag]:
        return tighten.flagged(judged.context, judged.active)


def differences(seed: int) -> Iterator[Difference]:
    document = tidy(published(network_of(seed), seed), identified=seed % 2 == 0)
    try:
        judged = audited(document, seed)
    except EmptySelectionError:
        return
    asked = (None, *(item for item in Strategy if item is not Strategy.NONE))[seed % 6]
    options = replace(RUN, strategy=asked)
    try:
        made = tighten.plan(judged, options)
    except UsageError:
        made = tighten.plan(judged, RUN)
    for difference in Tightened(Facts(document), seed, judged, made).differences():
        yield seed, str(made.strategy), *difference


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, QUICK, 40))
def test_tightening_keeps_what_is_required_on_some_networks(start: int) -> None:
    """What was open and is required stays open, and what goes is what was flagged."""
    found = [difference for seed in range(start, start + 40) for difference in differences(seed)]

    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("start", range(QUICK, FULL, CHUNK))
def test_tightening_keeps_what_is_required_on_thousands_of_networks(start: int) -> None:
    """What was open and is required stays open, and what goes is what was flagged."""
    found = [difference for seed in range(start, start + CHUNK) for difference in differences(seed)]

    assert found == []


@pytest.mark.parametrize("seed", [13, 1116])
def test_tightening_where_it_once_failed(seed: int) -> None:
    """Less than all traffic, and ports that a list that was not read may admit, are kept as well."""
    assert list(differences(seed)) == []
