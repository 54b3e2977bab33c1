"""Results in Python: the DataFrames are the report's tables, of a results folder and of a published report alike."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import steeplechase
from reports.report import build
from reports.write import write_report
from steeplechase.foundation.errors import ConfigurationError, MachineError
from tests.factories.import_check import HEAVY, NUMERICAL
from tests.factories.paths import ROOT
from tests.factories.reports import snapshot, trials_of

PUBLISHED = ROOT / "reports" / "published"
TABLE2 = PUBLISHED / "table2-wikipedia"
SMALL = PUBLISHED / "search-laptop"
TIMES = PUBLISHED / "table9-laptop"
NAMES = (("held_out_loss", "", "held_out_loss"), ("score", "", "score"), ("rte", "rte", "accuracy"))
"""A metric of the results table, and its task and metric in long form."""


@pytest.fixture(scope="module")
def results() -> steeplechase.Results:
    return steeplechase.load(TABLE2)


def test_trials_have_the_means_and_numbers_of_seeds_of_the_results_table(results: steeplechase.Results) -> None:
    trials, table = results.trials(), results.table("results")
    assert [*trials.columns] == ["arm", "seed", "task", "metric", "value"]
    for name, task, metric in NAMES:
        long = trials[(trials.task == task) & (trials.metric == metric)].groupby("arm").value
        rows = table[table.metric == name].set_index("arm").sort_index()
        pd.testing.assert_series_equal(long.mean(), rows["mean"], check_names=False)
        assert (long.count() == rows.n).all()
    assert not trials.duplicated(["arm", "seed", "task", "metric"]).any()


@pytest.mark.parametrize("folder", [SMALL, TIMES], ids=lambda folder: folder.name)
def test_the_frames_are_the_tables_of_the_whole_report(folder: Path, tmp_path: Path) -> None:
    found = steeplechase.load(folder)
    write_report(replace(found.report, figures=tuple), tmp_path)
    written = pd.read_csv(tmp_path / "tables" / "trials.csv", keep_default_na=False)
    assert [*found.trials().columns] == [*written.columns]
    assert len(found.trials()) == len(written) > 0
    assert {*found.tables, "trials"} == {path.stem for path in (tmp_path / "tables").iterdir()}
    for name in found.tables:
        assert len(found.table(name)) == len(pd.read_csv(tmp_path / "tables" / f"{name}.csv"))


def test_curves_end_at_the_held_out_losses_of_the_trials(results: steeplechase.Results) -> None:
    curves, trials = results.curves(), results.trials()
    ends = curves.sort_values("tokens").groupby(["arm", "seed"]).held_out_loss.last()
    losses = trials[trials.metric == "held_out_loss"].set_index(["arm", "seed"]).value
    pd.testing.assert_series_equal(ends, losses, check_names=False, check_like=True)


def test_a_figure_is_shown_and_saved_by_its_name(results: steeplechase.Results, tmp_path: Path) -> None:
    figure = results.figure("forest")
    assert figure._repr_svg_().startswith("<svg")
    assert figure.save(tmp_path / "forest.svg").read_bytes() == (TABLE2 / "figures" / "forest.svg").read_bytes()
    assert [*figure.numbers().columns] == [*figure.picture.numbers.columns]
    with pytest.raises(ConfigurationError, match=r"\.svg, \.pdf, \.png"):
        figure.save(tmp_path / "forest.gif")
    with pytest.raises(MachineError, match="No such file or directory"):
        figure.save(tmp_path / "nowhere" / "forest.svg")


def test_an_unknown_name_is_refused_with_the_known_ones(results: steeplechase.Results) -> None:
    with pytest.raises(ConfigurationError, match=r"'curve' is not a figure of this report: .*Did you mean 'curves'"):
        results.figure("curve")
    with pytest.raises(ConfigurationError, match="'effect' is not a table of this report"):
        results.table("effect")
    with pytest.raises(MachineError):
        steeplechase.load("nowhere")


def test_the_import_costs_nothing() -> None:
    code = "import sys, steeplechase; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {*HEAVY, *NUMERICAL, "pandas", "pydantic"}.isdisjoint(done.stdout.split())


def test_any_two_arms_are_compared_and_wrong_names_refused(results: steeplechase.Results) -> None:
    found = results.compare("span_dynamic", "dynamic", metrics=["held_out_loss"])
    (row,) = found.to_dict("records")
    assert (row["arm"], row["reference"], row["metric"]) == ("span_dynamic", "dynamic", "held_out_loss")
    assert row["low"] < row["delta"] < row["high"]
    of_task, of_metric = (results.compare("dynamic", metrics=[name]) for name in ("squad_v1_1", "squad_v1_1:f1"))
    assert of_task.equals(of_metric)
    with pytest.raises(ConfigurationError) as refusal:
        results.compare("span", metrics=["loss"])
    assert len(refusal.value.lines) == 2


def test_effects_without_another_arm_are_no_rows_rather_than_the_means() -> None:
    shown = snapshot(trials_of({"baseline": [5.0, 5.1]}), {"baseline": {}})
    assert steeplechase.Results(Path("results"), shown, build(shown)).effects().empty
