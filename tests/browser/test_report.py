from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import generate
from sgaudit.fix import planner
from tests.browser.page import Browser
from tests.unit.report.test_html import HOSTILE, example, judged, named, written

SIZES = [(1280, 900), (800, 600), (390, 800)]
RIGHT, DOWN, LEFT, END, HOME, ENTER, TAB = "\ue014", "\ue015", "\ue012", "\ue010", "\ue011", "\ue007", "\ue004"
PIXELS = """
const map = document.getElementById("map"), data = map.getContext("2d").getImageData(0, 0, map.width, map.height).data;
const colors = new Set();
for (let i = 0; i < data.length; i += 4) colors.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
return [...colors];
"""
FOCUSED = "return document.activeElement.id || document.activeElement.tagName"
OPEN_LIGHT, BLOCKED_LIGHT, OPEN_DARK, BLOCKED_DARK = "207,226,243", "179,50,14", "36,67,94", "240,113,74"


@pytest.fixture
def healthy(browser: Browser, tmp_path: Path) -> Browser:
    browser.show(written(example("healthy")), tmp_path / "report.html")
    return browser


@pytest.fixture
def broken(browser: Browser, tmp_path: Path) -> Browser:
    browser.show(written(example("head-and-compute-groups")), tmp_path / "report.html")
    return browser


def test_it_opens(healthy: Browser) -> None:
    """A healthy cluster's page says so, shows its map, and nothing goes wrong."""
    assert healthy.text("header .verdict") == "PASS 12 ordered pairs, 12 open"
    assert healthy.text("#shown") == "4 by 4 members: 12 open"
    assert BLOCKED_LIGHT not in healthy.run(PIXELS)
    assert healthy.complaints() == []


def test_the_map_shows_the_verdicts(broken: Browser) -> None:
    """What is blocked has its color, and the map's name says in words what it shows."""
    assert {OPEN_LIGHT, BLOCKED_LIGHT} <= set(broken.run(PIXELS))
    assert broken.run("return document.getElementById('map').getAttribute('aria-label')") == (
        "Who reaches whom, everything that is asked. 5 by 5 members: 12 blocked, 8 open."
    )


@pytest.mark.parametrize(
    ("control", "value", "shown"),
    [
        ("#from", "hpc-head", "1 by 5 members: 4 open"),
        ("#to", "10.13.0.15", "5 by 1 members: 4 open"),
        ("#from", "compute", "4 by 5 members: 12 blocked, 4 open"),
        ("#from", "no such thing", "Nothing matches these filters"),
        ("#lines", "kinds", "2 by 2 kinds: 12 blocked, 8 open"),
        ("#view", "1", "5 by 5 members: 12 blocked, 8 open"),
    ],
)
def test_filters(broken: Browser, control: str, value: str, shown: str) -> None:
    """The filters narrow the map to what they say."""
    broken.choose(control, value)

    assert broken.text("#shown") == shown
    assert broken.complaints() == []


def test_filter_by_verdict(broken: Browser) -> None:
    """With one verdict left, only members that have it as a source or as a target remain."""
    broken.click("#verdicts input[value=open]")

    assert broken.text("#shown") == "4 by 4 members: 12 blocked"


def test_filter_by_port(broken: Browser) -> None:
    """A port chooses the need that asks for it; one that nothing asks for says so."""
    broken.choose("#port", "29500")
    assert broken.texts("#view option") == ["master-port: tcp 29500"]

    broken.choose("#port", "22")
    assert broken.texts("#view option") == ["no need asks for port 22"]


def test_it_explains_by_keys(broken: Browser) -> None:
    """Arrows move, each step is said aloud, and Enter follows the packets to what stops them."""
    broken.run("document.getElementById('map').focus()")
    broken.keys(DOWN, END)
    assert broken.run("return document.getElementById('said').textContent") == (
        "queue1-dy-c7i-1 10.13.16.24, to queue1-dy-c7i-4 10.13.19.190, blocked, "
        "gloo-mesh: tcp 32768-60999: blocked, master-port: tcp 29500: blocked"
    )
    broken.keys(ENTER)

    assert broken.run(FOCUSED) == "explained"
    assert broken.text("#explained h3") == "queue1-dy-c7i-1 to queue1-dy-c7i-4"
    assert [text.split()[0] for text in broken.texts("#explained details[open] .stop")] == ["SG_INGRESS_MISSING"]
    assert broken.texts("#explained details[open] .todo li") == [
        "Add to compute (sg-0b90a1e65c35eafcd) an ingress permission for tcp 32768-60999 from the group itself."
    ]
    assert broken.complaints() == []


def test_it_explains_by_pointer(broken: Browser) -> None:
    """Hovering shows the verdict, and a click explains the pair."""
    left, low = broken.run(
        "const map = document.getElementById('map'); map.scrollIntoView({ block: 'center' });"
        "const box = map.getBoundingClientRect(); return [box.left, box.bottom - 26]"
    )
    said = []
    # The last row, from its first cell on; where that begins depends on the fonts.
    for across in range(60, 400, 12):
        broken.point(int(left) + across, int(low))
        said.append(broken.text("#tip").replace("\n", " "))
        if "blocked" in said[-1]:
            break
    broken.press()

    assert said[-1].startswith("queue1-dy-c7i-4 10.13.19.190 to queue1-dy-c7i-1 10.13.16.24 blocked")
    assert any(text.endswith("open") for text in said)
    assert broken.text("#explained h3") == "queue1-dy-c7i-4 to queue1-dy-c7i-1"
    assert broken.complaints() == []


def test_everything_is_reached_by_tab(broken: Browser) -> None:
    """The skip link comes first; the controls, the map and its buttons follow in the order of the page."""
    seen = []
    broken.run("document.activeElement.blur(); window.scrollTo(0, 0)")
    for _ in range(40):
        broken.keys(TAB)
        seen.append(broken.run(FOCUSED))
    named = [item for item in seen if item in ("view", "port", "lines", "sort", "from", "to", "map", "zoom-in", "fit")]

    assert seen[0] == "A"
    assert named[:9] == ["view", "port", "lines", "sort", "from", "to", "map", "zoom-in", "fit"]


def test_it_zooms(browser: Browser, tmp_path: Path) -> None:
    """Zooming in on many members shows their names, and fitting goes back."""
    browser.show(written(judged(generate.cluster(members=200))), tmp_path / "report.html")
    picture = "return document.getElementById('map').toDataURL()"
    before = browser.run(picture)
    browser.run("document.getElementById('map').focus()")
    browser.keys("+", "+", "+", "+")
    zoomed = browser.run(picture)
    browser.keys("0")

    assert zoomed != before
    assert browser.run(picture) == before
    assert browser.complaints() == []


@pytest.mark.parametrize("name", HOSTILE)
def test_names_do_nothing(browser: Browser, tmp_path: Path, name: str) -> None:
    """Names that are attacks are shown as they are: no element, no handler, no alert, no violation of the policy."""
    browser.show(written(named(name)), tmp_path / "report.html")
    browser.run("document.getElementById('map').focus()")
    browser.keys(RIGHT, RIGHT, ENTER)

    assert browser.run("return document.querySelectorAll('img, [onerror], [onfocus], [autofocus]').length") == 0
    assert browser.run("return document.scripts.length") == 2
    if name.isprintable():
        assert name in browser.text("#explained h3")
    assert browser.complaints() == []


@pytest.mark.parametrize("members", ["healthy", "large"])
def test_it_opens_without_decompression(browser: Browser, tmp_path: Path, members: str) -> None:
    """A browser that can't inflate by itself shows the same map."""
    found = example("healthy") if members == "healthy" else judged(generate.cluster(members=300))
    page, picture = written(found), "return document.getElementById('map').toDataURL()"
    browser.show(page, tmp_path / "report.html")
    expected = browser.run(picture)
    script = browser.command("Page.addScriptToEvaluateOnNewDocument", source="delete window.DecompressionStream")
    try:
        browser.show(page, tmp_path / "report.html")
        assert browser.run("return typeof DecompressionStream") == "undefined"
        assert browser.run(picture) == expected
    finally:
        browser.command("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_the_window(browser: Browser, tmp_path: Path, width: int, height: int, dark: bool) -> None:
    """At every size nothing sticks out to the side, and the colors are those of the scheme."""
    browser.show(written(example("node-without-group")), tmp_path / "r.html", width=width, height=height, dark=dark)

    assert browser.overflow <= 0
    assert (
        {OPEN_DARK, BLOCKED_DARK} <= set(browser.run(PIXELS))
        if dark
        else {OPEN_LIGHT, BLOCKED_LIGHT} <= set(browser.run(PIXELS))
    )
    assert browser.complaints() == []


def test_it_shows_the_cluster_after_the_plan(browser: Browser, tmp_path: Path) -> None:
    """With a plan, the map can show what will be."""
    found = example("head-and-compute-groups")
    browser.show(written(found, plan=planner.plan(found)), tmp_path / "report.html")
    browser.choose("#view", "3")

    assert browser.text("#shown") == "5 by 5 members: 20 open"


def test_it_prints(broken: Browser) -> None:
    """On paper the controls are gone, the details are open, and the map is drawn for white paper."""
    broken.run("window.dispatchEvent(new Event('beforeprint'))")
    broken.command("Emulation.setEmulatedMedia", media="print")

    assert broken.run("return document.getElementById('controls').checkVisibility()") is False
    assert broken.run("return [...document.querySelectorAll('details')].every((box) => box.open)")
    assert BLOCKED_LIGHT in broken.run(PIXELS)


def test_findings_are_filtered(browser: Browser, tmp_path: Path) -> None:
    """The text filter leaves the findings that hold it."""
    found = judged(generate.cluster(members=1000))
    browser.show(written(found), tmp_path / "report.html")
    browser.choose("#finding-text", "train-19")
    visible = browser.run(
        "return [...document.querySelectorAll('.finding')].filter((e) => e.checkVisibility()).map((e) => e.textContent)"
    )

    assert 0 < len(visible) < len(found.findings)
    assert all("train-19" in text for text in visible)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["large", "many-classes"])
def test_ten_thousand_members(browser: Browser, tmp_path: Path, kind: str) -> None:
    """Ten thousand members stay below 20 MB, open, filter and explain."""
    page = written(judged(generate.KINDS[kind]()))
    browser.show(page, tmp_path / "report.html")
    browser.choose("#from", "train-00940")
    browser.choose("#lines", "members")
    browser.run("document.getElementById('map').focus()")
    browser.keys(RIGHT, ENTER)

    assert len(page.encode()) < 20_000_000
    assert browser.text("#shown").startswith("1 by 10,000 members: ")
    assert browser.text("#explained h3").startswith("train-00940 to ")
    assert browser.complaints() == []
