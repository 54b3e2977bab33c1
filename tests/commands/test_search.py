"""`steeplechase search`: replays and results folders side by side, the export of curves, and the refusals."""

import json
from pathlib import Path

import numpy as np
import pytest

from runners.replay.curves import plain
from runners.replay.curves.recorded import from_table
from runners.search.breeding import BreedingPool
from runners.search.encoding import point_of
from steeplechase.configuration.loading import load_experiment
from steeplechase.foundation.canonical import canonical
from tests.factories.command_calls import ROOT, Call

FOLDER = ROOT / "experiments" / "evolved" / "tabulated"
PUBLISHED = ROOT / "reports" / "published"
RANDOM = FOLDER / "random.yaml"


@pytest.fixture(scope="module")
def curves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of the space, at scale smoke."""
    experiment = load_experiment(RANDOM, "smoke")
    assert experiment.search is not None
    design = experiment.search.model_copy(update={"max_candidates": 999})
    pool, generator = BreedingPool(experiment.model_copy(update={"design": design})), np.random.default_rng(0)
    for _ in range(4000):
        pool.drawn(generator)
    drawn = [experiment.baseline, *(arm.candidate for arm in pool.arms)]
    points = {json.dumps(point := {**point_of(experiment.search, each)}): point for each in drawn}
    steps = [1024 * number for number in range(1, 9)]
    rows = [[6.0 - 0.01 * row - 0.1 * column for column in range(8)] for row in range(len(points))]
    table = from_table("t", [*map(str, range(len(points)))], [*points.values()], steps, rows)  # type: ignore[arg-type]
    path = tmp_path_factory.mktemp("search") / "table.jsonl"
    header = {"direction": "min", "baseline": canonical(experiment.baseline)}
    path.write_text("\n".join([json.dumps(header), *plain.written(table).splitlines()[1:]]))
    return path


def test_searches_are_side_by_side_with_their_costs_and_files(call: Call, curves: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    fewer = f"{RANDOM}@design.max_candidates=2"
    options = ("--curves", curves, "--scale", "smoke", "--seeds", "2")
    answer = call("search", "compare", RANDOM, fewer, *options, "--format", "json", "--out", out)
    assert answer.code == 0, answer.err
    results = json.loads(answer.out)["tables"][0]
    rows = {(row["search"], row["measure"]): row for row in results["rows"]}
    assert rows["random", "cost"]["mean"] == pytest.approx(4)
    assert rows["random@max_candidates=2", "cost"]["mean"] == pytest.approx(1)
    assert rows["random@max_candidates=2", "best_seen"]["delta"] >= 0
    assert rows["random", "best_seen"]["n"] == 2
    figures = {path.name for path in (out / "figures").iterdir()}
    assert figures == {f"best_by_cost.{end}" for end in ("csv", "svg", "pdf")}
    tables = {path.stem for path in (out / "tables").iterdir()}
    assert tables == {"results", "by_seed", "loss_at_costs", "trainings"}


def test_refusals_are_one_line_each(call: Call, curves: Path, tmp_path: Path) -> None:
    table2, search = PUBLISHED / "table2-laptop", PUBLISHED / "search-laptop"
    replayed = ("--curves", curves, "--scale", "smoke", "--seeds", "1")
    cases = [
        (("compare", table2), "its design is no search"),
        (("compare", search, search), "at seed 0 twice"),
        (("compare", RANDOM), "an experiment needs --curves"),
        (("compare", search, "--scale", "huge", "--seeds", "3"), "leave --scale, --seeds out"),
        (("compare", search, RANDOM, *replayed), "its space of axes is not that of"),
        (("compare", f"{RANDOM}@design.objectives=[seconds]", *replayed), "the first objective must be"),
        (("export", table2, tmp_path / "x.jsonl"), "its design is no search"),
    ]
    for arguments, message in cases:
        answer = call("search", *arguments)
        assert answer.code in (3, 4, 6), answer.out
        assert message in answer.err
        assert len(answer.err.splitlines()) == 1


def test_one_published_search_is_reported(call: Call) -> None:
    answer = call("search", "compare", PUBLISHED / "search-laptop")
    assert answer.code == 0, answer.err
    assert "fully trained" in answer.out
