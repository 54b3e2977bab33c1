"""The interactive page: its axes against the results, hostile names, no network, and its charts in a browser."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from reports.explorer.exploration import MOST_LEVELS, Axis, Exploration, embedded, exploration_of, explorer_page
from reports.report import build
from reports.statistics.reading import results_of
from reports.statistics.results import Results
from search_space.candidate import Candidate
from search_space.overrides import apply
from steeplechase.ledger.snapshot import Snapshot
from tests.factories.reports import Trial, primary, search, snapshot, table2
from tests.reports.test_formats import HOSTILE, VIEWS

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = "--disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update"


def dom_of(page: Path, profile: Path) -> str:
    """Return the page's elements as text; the profile is an empty folder."""
    browser = next(filter(None, map(shutil.which, NAMES)), None)
    if browser is None:
        pytest.skip(f"needs one of {', '.join(NAMES)}")
    command = [browser, "--headless", "--no-sandbox", "--disable-sync", "--disable-dev-shm-usage", *QUIET.split()]
    options = [f"--user-data-dir={profile}", "--window-size=1400,1200", "--virtual-time-budget=5000", "--dump-dom"]
    ended = subprocess.run(
        [*command, *options, page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    return ended.stdout


def results_with_candidates(found: Snapshot) -> Results:
    """Return results whose arms have the candidates that their changes give."""
    arms = [replace(arm, candidate=apply(Candidate(), arm.changes)) for arm in found.arms]
    return results_of(replace(found, arms=tuple(arms)), primary)


def explored(results: Results) -> tuple[Exploration, dict[str, Axis]]:
    exploration = exploration_of(results)
    return exploration, {axis.title: axis for axis in exploration.axes}


@pytest.mark.parametrize("view", VIEWS)
def test_every_axis_has_a_place_and_a_text_for_every_arm(view: str) -> None:
    exploration, axes = explored(results_with_candidates(VIEWS[view]()))
    assert len(axes) == len(exploration.axes)
    assert {line.arm for line in exploration.curves} <= set(exploration.arms)
    for axis in exploration.axes:
        assert len(axis.positions) == len(axis.texts) == len(exploration.arms)
        assert all(place is None or 0 <= place <= 1 for place in axis.positions)
        assert len({label for _, label in axis.ticks}) == len({place for place, _ in axis.ticks})


def test_the_varied_fields_are_those_in_which_arms_differ() -> None:
    exploration, axes = explored(results_with_candidates(table2()))
    assert exploration.arms[0] == "baseline"
    assert [axis.title for axis in exploration.axes if axis.varied] == ["bottleneck_ratio", "convolution.kind"]
    kinds = dict(zip(exploration.arms, axes["convolution.kind"].texts, strict=True))
    assert kinds == {name: name if name in ("depthwise", "dynamic", "span_dynamic") else "none" for name in kinds}
    places = axes["convolution.kind"].positions
    assert sorted(set(places)) == pytest.approx([0, 1 / 3, 2 / 3, 1])


def test_the_axis_of_a_metric_has_the_means_of_the_report() -> None:
    results = results_with_candidates(table2())
    exploration, axes = explored(results)
    loss = axes["held-out loss"]
    for arm, value, text in zip(exploration.arms, loss.values, loss.texts, strict=True):
        effect = results.effect(arm, results.metrics[0])
        assert value == effect.mean
        assert text.endswith("(3)")
    assert loss.lower_is_better
    assert loss.headline
    assert loss.positions[loss.values.index(min(filter(None, loss.values)))] == 0
    assert not axes["docs_pair"].headline


def test_a_stopped_candidate_has_its_last_loss_with_its_tokens() -> None:
    results = results_with_candidates(search())
    exploration, axes = explored(results)
    loss = axes["held-out loss, last measured"]
    stopped = [at for at, text in enumerate(loss.texts) if "tokens" in text]
    assert stopped
    for at in stopped:
        (line,) = [line for line in exploration.curves if line.arm == exploration.arms[at]]
        assert loss.values[at] == line.mean[-1]
        assert axes["tokens seen"].texts[at] == f"{line.tokens[-1]:,}"


def test_many_values_lie_on_a_linear_axis_and_few_are_evenly_spaced() -> None:
    rates = {f"rate{step}": {"recipe.peak_learning_rate": step * 1e-4} for step in range(1, MOST_LEVELS + 2)}
    trials = [Trial(name, 1).pretrained(6.0) for name in ("baseline", *rates)]
    many = results_with_candidates(snapshot(trials, arms={"baseline": {}, **rates}))
    exploration, axes = explored(many)
    axis = axes["recipe.peak_learning_rate"]
    found = dict(zip(exploration.arms, axis.values, strict=True))
    low, high = min(found.values()), max(found.values())  # type: ignore[type-var]
    place = axis.positions[exploration.arms.index("rate3")]
    assert found["rate3"] == pytest.approx(3e-4)
    assert place == pytest.approx((3e-4 - low) / (high - low))  # type: ignore[operator]


@pytest.mark.parametrize("name", HOSTILE[:2])
def test_no_name_ends_the_element_of_the_data(name: str) -> None:
    exploration = replace(exploration_of(results_with_candidates(table2())), arms=(name,))
    text = embedded(exploration)
    assert "<" not in text
    assert json.loads(text)["arms"] == [name]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("plotly", reason="the extra `explore` is not installed")
    folder = tmp_path_factory.mktemp("pages")
    for view in ("search", "empty"):
        found = VIEWS[view]()
        text = explorer_page(build(found), exploration_of(results_with_candidates(found)))
        (folder / f"{view}.html").write_text(text, "utf-8")
    return folder


def test_the_page_loads_nothing(pages: Path) -> None:
    text = (pages / "search.html").read_text("utf-8")
    elements = re.sub(r"<script[^>]*>.*?</script>", "", text, flags=re.DOTALL)
    assert "default-src 'none'" in unescape(elements)
    assert not re.search(r"\b(src|href)\s*=", elements)
    assert "c003" in text


def test_the_charts_are_drawn(pages: Path, tmp_path: Path) -> None:
    exploration = exploration_of(results_with_candidates(search()))
    text = dom_of(pages / "search.html", tmp_path)
    assert text.count('class="chart js-plotly-plot"') == 3
    for name in exploration.arms:
        assert f"</i>{name}</button>" in text
    drawn = re.search(r'id="parallel".*?id="slices"', text, re.DOTALL)
    assert drawn
    assert len(re.findall(r'<g class="trace scatter', drawn[0])) == len(exploration.arms)
    assert "convolution.kind" in re.sub(r"<[^>]+>", "", drawn[0])


def test_an_experiment_without_results_has_no_charts_of_them(pages: Path, tmp_path: Path) -> None:
    text = dom_of(pages / "empty.html", tmp_path)
    assert re.search(r"<section hidden[^>]*>\s*<h2>Learning curves", text)
