"""`search` and `replay`: searches side by side, their curves, and regret on recorded ones."""

import json
from pathlib import Path

import numpy as np
import pytest

from runners.replay.curves import plain
from runners.replay.curves.recorded import from_table
from runners.replay.settings import RECOMMENDED, SEARCHES
from runners.search.breeding import BreedingPool
from runners.search.encoding import point_of
from steeplechase.configuration.loading import load_experiment
from steeplechase.foundation.canonical import canonical
from tests.factories.command_calls import ROOT, Call
from tests.factories.import_check import HEAVY, imported_after
from tests.factories.synthetic_curves import synthetic

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
    numbers = {number for _ in range(4000) if (number := pool.drawn(generator)) is not None}
    drawn = [experiment.baseline, *(pool.arm(number).candidate for number in sorted(numbers))]
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


@pytest.fixture(scope="module")
def recorded_curves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("replay") / "recorded_curves.jsonl"
    path.write_text(plain.written(synthetic("power_laws", 1, candidates=30, points=9)))
    return path


@pytest.mark.parametrize("search", sorted(SEARCHES))
def test_the_json_of_every_search(call: Call, recorded_curves: Path, search: str) -> None:
    answer = call("replay", recorded_curves, "--search", search, "--budget", "3", "--seeds", "4", "--json")
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    assert (found["search"], found["budget"], found["seeds"]) == (search, 3, 4)
    regret = found["normalised_regret"]
    assert 0.0 <= regret["low"] <= regret["mean"] <= regret["high"]
    assert len(found["per_seed"]) == 4
    assert found["tasks"][0]["spent"] <= 3.0 + 1e-6


def test_the_list_names_what_is_recommended(call: Call) -> None:
    found = json.loads(call("replay", "--search", "list", "--json").out)
    assert found == {"searches": [*SEARCHES], "recommended": RECOMMENDED}
    assert f"{RECOMMENDED} (recommended)" in call("replay", "--search", "list").out


def test_people_get_the_same_numbers(call: Call, recorded_curves: Path) -> None:
    arguments = ("replay", recorded_curves, "--search", "asha", "--budget", "2", "--seeds", "3")
    mean = json.loads(call(*arguments, "--json").out)["normalised_regret"]["mean"]
    assert f"normalised regret {mean:.3f} [" in call(*arguments).out


def test_refusals_are_one_line_with_their_exit_code(call: Call, recorded_curves: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong.jsonl").write_text("nothing")
    cases = [
        ((recorded_curves, "--search", "ahsa"), 3, "Did you mean asha?"),
        ((recorded_curves, "--budget", "0"), 3, "--budget: 0 is out of range"),
        ((recorded_curves, "--budget", "nan"), 3, "--budget: nan is out of range"),
        ((tmp_path / "wrong.jsonl",), 4, "wrong.jsonl:1: not JSON"),
        ((tmp_path / "nowhere",), 5, "no such file or folder"),
        ((), 3, "CURVES is missing"),
        ((recorded_curves, "--decisions"), 5, "a file; give a results folder"),
        ((recorded_curves, "--decisions", "--search", "ahsa", "--seeds", "3"), 3, "leave --search, --seeds out"),
        ((ROOT / "reports/published/pre_ln_warmup-laptop", "--decisions"), 4, "its design is no search"),
    ]
    for arguments, code, said in cases:
        answer = call("replay", *arguments)
        assert (answer.code, answer.err.count("\n")) == (code, 1), answer.err
        assert said in answer.err


def test_the_published_search_takes_its_decisions_again(call: Call) -> None:
    answer = call("replay", ROOT / "reports/published/search-laptop", "--decisions", "--json")
    assert json.loads(answer.out) == {"search": "search", "candidates": 21, "decisions": 38}, answer.err


def test_replay_imports_nothing_heavy(recorded_curves: Path) -> None:
    ((code, imported),) = imported_after(("replay", recorded_curves, "--budget", "1", "--seeds", "1"))
    assert (code, imported & {*HEAVY}) == (0, set())
