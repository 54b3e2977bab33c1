"""`steeplechase compare`: the differences between any two arms of a results folder, looked up after the run."""

from collections.abc import Iterable, Sequence
from typing import Annotated

import typer

from commands.arguments import ResultsFolder, not_one_of
from commands.documents import print_document
from commands.report_format import TERMINAL, ReportFormat
from foundation.errors import ConfigurationError, DataError
from ledger.example_tables import kept_example_tables
from ledger.reading import snapshot_at
from reports.by_recipe import at_shared_recipe
from reports.formats import render
from reports.pair_report import pair_report
from reports.statistics.compared_pairs import compared_pairs
from reports.statistics.latency import is_latency
from reports.statistics.results import results_of


def compare(
    folder: ResultsFolder,
    arms: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ARM...", help="Arms, each minus those after it; a single one minus all others. Default: all."
        ),
    ] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="METRIC", help="Default: held-out loss and score; repeatable."),
    ] = None,
    form: ReportFormat = TERMINAL,
) -> None:
    """Print the differences between any arms of a results folder, with intervals and corrected p values."""
    found = snapshot_at(folder)
    if is_latency(found):
        raise DataError(f"{folder}: a timing experiment; `steeplechase report` has its comparisons")
    results = results_of(at_shared_recipe(found), example_tables=kept_example_tables(folder))
    known, measured = [arm.name for arm in results.arms], {metric.name: metric for metric in results.metrics}
    if len(known) < 2:
        raise DataError(f"{folder}: fewer than two arms have been planned yet; `steeplechase run` adds them")
    named, wanted = arms or known, metrics or [metric.name for metric in results.headlines]
    _refuse(named, wanted, known, measured)
    pairs = compared_pairs(results, named, [measured[name] for name in wanted])
    text = render(pair_report(results, pairs), form)
    if form == TERMINAL:
        print(text, end="")  # noqa: T201 — the result itself
    else:
        print_document(text)


def _refuse(arms: Sequence[str], metrics: Sequence[str], known: Sequence[str], measured: Iterable[str]) -> None:
    """Raise ConfigurationError with every unknown or repeated name."""
    mistakes = [not_one_of(arm, "an arm", known) for arm in arms if arm not in known]
    mistakes += [f"--metric: {not_one_of(name, 'a metric', measured)}" for name in metrics if name not in measured]
    mistakes += [
        f"{name!r} is named twice" for each in (arms, metrics) for name in dict.fromkeys(each) if each.count(name) > 1
    ]
    if mistakes:
        raise ConfigurationError(mistakes)
