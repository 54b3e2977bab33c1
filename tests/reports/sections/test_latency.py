"""Latency reports in every format, also from an unfinished ledger; names are escaped."""

from dataclasses import replace
from pathlib import Path

import pytest

from reports.formats import format_names
from reports.formats import render as render_report
from reports.report import build
from reports.write import write_report
from steeplechase.configuration.pretraining import Pretraining
from steeplechase.ledger.snapshot import Snapshot
from tests.factories.latencies import ARMS, experiment, snapshot_of

CONTROLLED = {"attention": {}, "control": {}, "mixed": ARMS["mixed"]}
TIMES = {"attention": (1.0, 1.1, 1.2), "control": (1.01, 1.09, 1.2), "mixed": (0.5, 0.6, 0.55)}
WHOLE = snapshot_of({16: TIMES, 8: TIMES}, experiment(CONTROLLED))


def render(kept: Snapshot, form: str) -> str:
    return render_report(build(kept), form)


@pytest.mark.parametrize(
    ("form", "kept"),
    [*((form, WHOLE) for form in format_names()), *((form, snapshot_of({})) for form in ("csv", "html"))],
)
def test_every_format_holds_the_finding(form: str, kept: Snapshot) -> None:
    text = render(kept, form)
    if form == "csv":
        assert text.startswith("arm,length,n,milliseconds")
    else:
        first = build(kept).finding.split(" ")[0]
        assert first in text


@pytest.mark.parametrize(
    "kept", [WHOLE, snapshot_of({8: {"attention": (1.0,), "mixed": (0.5,)}}, experiment(rounds=1))]
)
def test_the_figure_is_written_with_its_numbers(kept: Snapshot, tmp_path: Path) -> None:
    write_report(build(kept), tmp_path)
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"latency.svg", "latency.pdf", "latency.csv"}
    assert (tmp_path / "figures" / "latency.csv").read_text() == (tmp_path / "report.csv").read_text()


def test_an_experiment_without_times_has_no_figure_and_states_it(tmp_path: Path) -> None:
    write_report(build(snapshot_of({})), tmp_path)
    assert not (tmp_path / "figures").exists()
    assert "No result yet" in (tmp_path / "report.md").read_text()


def test_the_conditions_name_the_machine_as_soon_as_something_was_timed() -> None:
    terms = {"Clock", "Arithmetic", "Machine", "Code"}
    assert terms <= {term for term, _ in build(snapshot_of({8: TIMES}, experiment(CONTROLLED))).footer}
    assert not terms & {term for term, _ in build(snapshot_of({})).footer}


def test_beside_trials_the_speedups_have_tables_of_their_own() -> None:
    trained = experiment(CONTROLLED).model_copy(update={"pretraining": Pretraining(tokens=1000, seeds=(1,))})
    report = build(replace(snapshot_of({8: TIMES, 16: TIMES}, trained), labels=("pretrain@1000",)))
    assert {"latency", "latency_orderings"} <= {table.name for table in report.tables}
    assert "No result yet: no trial has begun" in report.finding
    assert "as fast as attention" in report.finding
    assert {"Corpus", "Timed"} <= {term for term, _ in report.footer}
    assert [row["metric"] for row in report.trials.rows] == ["milliseconds"] * 6
