"""The CloudFormation form gives the plan's change, resolves nothing, and refuses what no template can say."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sgaudit.errors import UsageError
from sgaudit.fix.emit.cloudformation import DYNAMIC as DYNAMIC_REFERENCE
from sgaudit.fix.emit.cloudformation import EGRESS, render
from sgaudit.fix.plan import Plan
from tests.unit.fix.emit_readers import PLANS, TEMPLATED, changes, hostile, operation, planned, read_cloudformation
from tests.unit.fix.plans import plan as bare_plan

CFN_LINT = shutil.which("cfn-lint", path=sysconfig.get_path("scripts")) or shutil.which("cfn-lint")
needs_cfn_lint = pytest.mark.skipif(CFN_LINT is None, reason="cfn-lint (extra emit-test) is not installed")


def written(plan: Plan) -> str:
    return "".join(render(plan))


@pytest.mark.parametrize("name", TEMPLATED)
def test_reads_back_as_the_plan(name: str) -> None:
    """Each form read back gives the change that the plan makes; only permissions lose their tags."""
    plan = planned(name)
    assert read_cloudformation(written(plan)) == changes(plan, rule_tags=False)


def test_hostile_text_is_read_back() -> None:
    """Text that holds anything is text: a reader without CloudFormation's tags gives it back as it was."""
    plan = hostile(attach=False)
    assert read_cloudformation(written(plan)) == changes(plan, rule_tags=False)


@needs_cfn_lint
@pytest.mark.slow
def test_is_a_template(tmp_path: Path) -> None:
    """cfn-lint finds nothing wrong with any of them."""
    for name in TEMPLATED:
        (tmp_path / f"{name}.yaml").write_text(written(planned(name)), encoding="utf-8")
    files = sorted(map(str, tmp_path.glob("*.yaml")))
    done = subprocess.run(
        [str(CFN_LINT), "--format", "json", "--regions", "us-east-1", "--", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[]", "")


def test_makes_nothing_elsewhere() -> None:
    """Every resource hangs on the condition that account and Region are the plan's."""
    template = yaml.safe_load(written(planned("peers")))
    assert template["Conditions"] == {
        "IsPlannedPlace": {
            "Fn::And": [
                {"Fn::Equals": [{"Ref": "AWS::AccountId"}, "111122223333"]},
                {"Fn::Equals": [{"Ref": "AWS::Region"}, "us-east-1"]},
            ]
        }
    }
    assert {resource["Condition"] for resource in template["Resources"].values()} == {"IsPlannedPlace"}


@given(st.text().filter(lambda text: DYNAMIC_REFERENCE not in text))
def test_any_string(text: str) -> None:
    """Whatever a text is, a reader gets it back as text."""
    params = {"GroupId": "sg-a", "IpPermissions": [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": text}]}]}
    plan = bare_plan(operation(1, "AuthorizeSecurityGroupIngress", params))
    assert read_cloudformation(written(plan)) == changes(plan)


ATTACHMENT = "no CloudFormation resource puts a group on an interface that exists"
DYNAMIC = "CloudFormation would resolve the text {{resolve:...}} in it"
NOT_TEMPLATED = sorted(set(PLANS) - set(TEMPLATED))
FOREIGN = "egress to a group of another account can't be said in CloudFormation"
REVOKED = "RevokeSecurityGroupIngress changes what cloudformation did not make"
ABROAD = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": "sg-b", "UserId": "999999999999"}]}]


@pytest.mark.parametrize(
    ("plan", "step", "why"),
    [
        (hostile(attach=True), 6, ATTACHMENT),
        (hostile(attach=False, text="{{resolve:ssm:/secret}}"), 1, DYNAMIC),
        (
            bare_plan(operation(1, "AuthorizeSecurityGroupEgress", {"GroupId": "sg-a", "IpPermissions": ABROAD})),
            1,
            EGRESS,
        ),
        (
            bare_plan(
                *hostile(attach=False).operations[:2],
                operation(3, "AuthorizeSecurityGroupEgress", {"GroupId": {"Ref": "op-1"}, "IpPermissions": ABROAD}),
            ),
            3,
            FOREIGN,
        ),
        (bare_plan(operation(1, "RevokeSecurityGroupIngress", {"GroupId": "sg-a", "IpPermissions": []})), 1, REVOKED),
    ],
)
def test_refuses(plan: Plan, step: int, why: str) -> None:
    """What a template can't say, or would take for something else, is refused by the operation's name."""
    with pytest.raises(UsageError) as caught:
        written(plan)
    assert caught.value.message == f"--emit cloudformation can't write op-{step}: {why}"
    assert "--emit aws-cli" in caught.value.hint


@pytest.mark.parametrize("name", NOT_TEMPLATED)
def test_refuses_whole_plans(name: str) -> None:
    """A plan of which one step can't be said is not written in part."""
    with pytest.raises(UsageError, match="--emit cloudformation can't write op-"):
        written(planned(name))


def test_refuses_an_empty_plan() -> None:
    """A template needs a resource."""
    with pytest.raises(UsageError, match="nothing is to be done"):
        written(bare_plan())


def test_refuses_more_than_a_template_holds() -> None:
    """Over 500 resources are refused before AWS does."""
    ranges = [{"CidrIp": f"10.0.{number // 256}.{number % 256}/32"} for number in range(501)]
    rows = [{"IpProtocol": "-1", "IpRanges": ranges}]
    plan = bare_plan(operation(1, "AuthorizeSecurityGroupIngress", {"GroupId": "sg-a", "IpPermissions": rows}))
    with pytest.raises(UsageError, match="501 resources, and a template may have 500"):
        written(plan)


def test_a_group_of_another_account() -> None:
    """Ingress from a group of another account names that account."""
    params = {"GroupId": "sg-a", "IpPermissions": ABROAD}
    plan = bare_plan(operation(1, "AuthorizeSecurityGroupIngress", params))
    assert read_cloudformation(written(plan)) == changes(plan)


def test_says_where_it_belongs() -> None:
    """Of a group that CloudFormation owns it says that this belongs into the owner's template."""
    plan = planned("self")
    first = replace(plan.operations[0], unsafe_because="CloudFormation owns it and may take the change back")
    text = written(replace(plan, operations=(first,)))
    assert f"  # {first.call.params['GroupId']} belongs to a stack: put this into its template\n" in text
