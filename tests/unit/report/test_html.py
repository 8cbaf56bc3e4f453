from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser
from typing import Any

import pytest

from sgaudit import snapshot as snapshots
from sgaudit.fix import planner
from sgaudit.policy.load import load
from sgaudit.policy.resolve import resolve
from sgaudit.reach.verdict import Verdict
from sgaudit.report.html import paths, render
from sgaudit.report.html import picture as drawing
from sgaudit.report.html.commands import commands
from sgaudit.report.html.data import Page, clean
from sgaudit.report.html.picture import picture
from sgaudit.rules.audit import Audit, audit
from sgaudit.selection import Selection, select
from tests import builders
from tests.unit.report import scans

Parsed = dict[str, Any]

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "\"' onfocus=alert(1) autofocus x='",
    "{{ 7 * 7 }}{% raw %}",
    "<!--",
    "]]>",
    "\u202egnp.exe",
    "a\x00b\ud800\ufffe",
]


def judged(document: builders.Raw) -> Audit:
    snapshot, selection = snapshots.parse(document, source="test"), Selection(everything=True)
    members = select(snapshot, selection)
    needs = resolve((load("pytorch-gloo"),), members, settings={}, head=None)
    return audit(snapshot, selection, members, needs)


def example(name: str) -> Audit:
    return judged(json.loads((scans.ROOT / "examples" / name / "snapshot.json").read_text(encoding="utf-8")))


def named(name: str) -> Audit:
    """Judge two members that can't reach each other, with one text for every name that people choose."""
    tags = [{"Key": "Name", "Value": name}]
    nodes = [builders.node(place, f"10.0.0.{place}") | {"Tags": tags} for place in ("11", "12")]
    group = builders.group("sg-a", name=name) | {"Description": name, "Tags": tags}
    return judged(builders.snapshot(nodes, [group]))


class Reader(HTMLParser):
    """Collects the elements of a page, its scripts apart, and the text of each."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": []}
        self.inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in self.texts:
            self.inside = tag
            self.texts[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == self.inside:
            self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.texts[self.inside][-1] += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader


def written(found: Audit, **more: Any) -> str:
    return "".join(render.render(found, **more))


def unpacked(found: Audit) -> tuple[Parsed, bytes]:
    pieces = Page(found).pieces()
    document: Parsed = json.loads(zlib.decompress(base64.b64decode(pieces["text"])))
    return document, zlib.decompress(base64.b64decode(pieces["bits"]))


def verdict(document: Parsed, bits: bytes, view: Parsed, source: int, target: int) -> str:
    """Read one verdict as the page's script does."""
    instances = document["members"]["instances"] or list(range(len(document["members"]["ids"])))
    row = view["rowOf"][source]
    if row < 0 or instances[source] == instances[target]:
        return ""
    at, mask = row * document["width"] + (target >> 3), 1 << (target & 7)
    for word in ("blocked", "partial", "unknown", "scope"):
        if view[word] >= 0 and bits[view[word] + at] & mask:
            return "open" if word == "scope" else word
    return ""


@pytest.mark.parametrize("name", scans.NAMES)
def test_the_bits_say_what_the_matrix_says(name: str) -> None:
    """For every example, each pair's verdict in the page is that of the analysis, for all needs and for each."""
    found = example(name)
    document, bits = unpacked(found)
    count = len(found.context.matrix.nodes)
    views = {view["need"]: view for view in document["views"]}
    whole = views.get(-1) or views[0]
    expected = {number: item.verdicts for number, item in enumerate(found.context.judged)}

    for view, verdicts in [(whole, found.context.overall), *((views[n], item) for n, item in expected.items())]:
        said = [[verdict(document, bits, view, one, other) for other in range(count)] for one in range(count)]
        assert said == [[str(verdicts.verdict(one, other) or "") for other in range(count)] for one in range(count)]


def test_every_path_of_a_small_cluster_is_there() -> None:
    """Up to two dozen members, each ordered pair has its own path for each need, and says the same verdict."""
    found = example("head-and-compute-groups")
    document, _ = unpacked(found)
    told, count = document["paths"], len(found.context.matrix.nodes)

    assert told["whole"]
    assert len(told["places"]) == count * (count - 1) * len(found.context.judged)
    for need, source, target, place in told["places"]:
        path = told["paths"][place]
        expected = found.context.judged[need].verdicts.verdict(source, target)
        assert (path[0], path[1], told["texts"][path[2]]) == (source, target, str(expected))


def test_a_path_names_what_stops_it() -> None:
    """The path between two members of a group that does not admit itself ends in the code and the cure."""
    document, _ = unpacked(example("head-and-compute-groups"))
    told = document["paths"]
    blocked = next(path for path in told["paths"] if told["texts"][path[2]] == "blocked")
    stops = [[told["texts"][place] for place in stop] for hop in blocked[4] for stop in hop[6]]

    assert [code for code, _ in stops] == ["SG_INGRESS_MISSING"]
    assert [told["texts"][place] for place in blocked[5]] == [
        "Add to compute (sg-0b90a1e65c35eafcd) an ingress permission for tcp 32768-60999 from the group itself."
    ]


def test_paths_are_bounded_and_those_that_fail_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not all paths fit, the page has those that are not open, and something like each of the others."""
    monkeypatch.setattr(paths, "MOST", 10)
    found = example("head-and-compute-groups")
    document, _ = unpacked(found)
    told = document["paths"]

    assert not told["whole"]
    assert 0 < len(told["places"]) <= 10
    assert {told["texts"][told["paths"][place][2]] for *_, place in told["places"]} == {"blocked"}
    assert {tuple(item[:1]) for item in told["alike"]} == {(0,), (1,)}


@pytest.mark.parametrize("name", HOSTILE)
def test_names_stay_text(name: str) -> None:
    """Whatever people call their things, the page has the same elements as with a plain name, and no scripts more."""
    plain, hostile = read(written(named("plain"))), read(written(named(name)))

    assert [tag for tag, _ in hostile.elements] == [tag for tag, _ in plain.elements]
    assert [sorted(attributes) for _, attributes in hostile.elements] == [sorted(a) for _, a in plain.elements]
    assert len(hostile.texts["script"]) == 2
    assert hostile.texts["script"][1] == plain.texts["script"][1]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_control_or_direction_characters(name: str) -> None:
    """Characters that nobody sees, or that turn the text around, are written out; the page is valid UTF-8."""
    page = written(named(name))

    assert not set(page) & set("\u202e\x00\ud800\ufffe")
    assert page.encode().decode() == page


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("<b>", "<b>"),
        ("\u05d0\u05d1", "\u05d0\u05d1"),
        ("a\u202eb", "a\\u202eb"),
        ("a\nb", "a\\nb"),
        ("\x1b[31m", "\\x1b[31m"),
    ],
)
def test_clean(text: str, shown: str) -> None:
    """Only what can't be seen is replaced; markup is the template's business."""
    assert clean(text) == shown


def test_the_page_loads_nothing() -> None:
    """No element names another file or address, and the policy admits this page's own style and script alone."""
    reader = read(written(example("one-way-groups")))
    policy = next(a["content"] or "" for tag, a in reader.elements if tag == "meta" and "http-equiv" in a)
    digests = [
        f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
        for text in (reader.texts["script"][1], reader.texts["style"][0])
    ]

    assert policy == (
        f"default-src 'none'; script-src '{digests[0]}'; style-src '{digests[1]}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    assert not [tag for tag, _ in reader.elements if tag in ("img", "link", "iframe", "object", "embed", "base")]
    named_elsewhere = [a for _, a in reader.elements if a.keys() & {"src", "action", "style", "srcset"}]
    handlers = [name for _, a in reader.elements for name in a if name.startswith("on")]
    links = [a["href"] or "" for tag, a in reader.elements if tag == "a"]
    assert (named_elsewhere, handlers, [link for link in links if not link.startswith("#")]) == ([], [], [])


def test_json_cannot_end_its_script() -> None:
    """No text inside the data can close the element in which it stands, and it reads back whole."""
    document = {"a": "</script><!--&"}

    text = render.script_safe(document)

    assert not set(text) & set("<>&")
    assert json.loads(text) == document


def test_everything_that_was_found_is_told() -> None:
    """Each finding stands there with its message, its cure and its fingerprint; so does what was not read."""
    found = example("acls-not-readable")
    page = written(found)

    assert found.findings
    for finding in found.findings:
        assert finding.fingerprint in page
        assert finding.rule in page
    assert "allow <code>ec2:DescribeNetworkAcls</code>" in page


def test_ids_are_unique() -> None:
    """No two elements share an id, and every id that is pointed at is there."""
    reader = read(written(example("node-without-group")))
    ids = [a["id"] for _, a in reader.elements if "id" in a]
    pointed = [(a["href"] or "")[1:] for tag, a in reader.elements if tag == "a"]
    pointed += [value or "" for _, a in reader.elements for name, value in a.items() if name == "data-copy"]

    assert len(ids) == len(set(ids))
    assert set(pointed) <= set(ids)


def test_before_and_after() -> None:
    """With a plan the page shows both counts, the calls to copy, and a view of the cluster as it will be."""
    found = example("head-and-compute-groups")
    plan = planner.plan(found)
    page = written(found, plan=plan)
    after = render._after(found.context, plan)
    views = Page(found, after).pieces()
    document: Parsed = json.loads(zlib.decompress(base64.b64decode(views["text"])))

    assert "Before and after the plan" in page
    assert "Before and after the plan" not in written(found)
    assert [view["counts"] for view in document["views"] if view["need"] == -2] == [dict(plan.after)]
    assert re.match(r"aws ec2 authorize-security-group-ingress --region us-east-1 --cli-input-json '", commands(plan))


def test_the_picture_counts_every_pair() -> None:
    """The lines between the boxes are about all pairs of the cluster, each once."""
    found = example("head-and-compute-groups")
    drawn = picture(found, Page(found).kinds)
    totals = {verdict: sum(link.counts.get(verdict, 0) for link in drawn.links) for verdict in Verdict}

    assert totals == dict(found.counts)
    assert [(part.short, part.members) for part in drawn.parts] == [("compute", 4), ("head", 1)]


def test_the_picture_draws_the_gravest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not all lines fit, those with the most pairs that are not open are drawn, and the others counted."""
    monkeypatch.setattr(drawing, "MOST_LINES", 1)
    found = example("head-and-compute-groups")
    drawn = picture(found, Page(found).kinds)

    assert ([line.verdict for line in drawn.lines], drawn.left_out) == ([Verdict.BLOCKED], 2)


def test_a_large_cluster_stays_small() -> None:
    """A thousand members in a few classes cost no more than their names; nothing is written for each pair."""
    nodes = [builders.node(str(n), f"10.0.{n // 250}.{n % 250 + 4}") for n in range(1000)]
    few, many = (written(judged(builders.snapshot(some, [builders.group()]))) for some in (nodes[:500], nodes))

    assert len(many) - len(few) < 100 * 500
