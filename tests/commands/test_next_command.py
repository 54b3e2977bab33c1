"""The end of a run names what is undecided and a command that runs as it is printed."""

import re
import shlex
from pathlib import Path

import pytest

from reports.report import build
from reports.statistics.experiment import experiment_of
from runners.opening import RunRequest
from steeplechase.commands.run_lines import deciding_lines
from steeplechase.ledger.paths import ResultPaths
from tests.factories.reports import document, snapshot
from tests.reports.test_finding import Trial

COMMAND = "steeplechase run table2 --scale demo --set pretraining.seeds=[1,2,3] --set recipe.dropout=0.1"


def lines_of(seeds: tuple[int, ...], delta: float, folder: Path) -> list[str]:
    trials = [
        Trial(arm, seed).pretrained(5.0 + offset + 0.1 * (position % 3))
        for arm, offset in (("baseline", 0.0), ("wide", delta))
        for position, seed in enumerate(seeds)
    ]
    resolved = document([], pretraining={"tokens": 1000000, "seeds": [*seeds]})
    view = snapshot(trials, {"baseline": {}, "wide": {"width": 512}}, resolved=resolved)
    experiment = experiment_of(view.document)
    request = RunRequest(experiment, "demo", ResultPaths(folder, folder), command=COMMAND)
    return [*deciding_lines(request, view, build(view))]


@pytest.mark.parametrize(("seeds", "set_to"), [((1, 2, 3), r"\d+"), ((11, 12, 13), r"\[11,12,13,14,.*\]")])
def test_an_undecided_test_is_named_with_the_seeds_that_decide_it(
    seeds: tuple[int, ...], set_to: str, tmp_path: Path
) -> None:
    undecided, decide, caveat = lines_of(seeds, -0.15, tmp_path)
    assert "exploratory" in caveat
    assert undecided.startswith("undecided: wide on held-out loss (")
    words = shlex.split(decide.partition(": ")[2])
    settings = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
    assert settings[0] == "recipe.dropout=0.1"
    (changed,) = settings[1:]
    assert re.fullmatch(rf"pretraining\.seeds={set_to}", changed)
    assert words[-2:] == ["--out", str(tmp_path)]


def test_nothing_is_said_where_everything_is_decided(tmp_path: Path) -> None:
    assert lines_of((1, 2, 3), -2.0, tmp_path) == []
