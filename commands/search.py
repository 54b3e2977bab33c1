"""`steeplechase search`: searches of one space side by side, and the curves of a search for replays."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from commands.arguments import ResultsFolder, Scale, choose_any
from configuration.experiment import Experiment
from configuration.latency import LatencyExperiment
from foundation.atomic_files import refuse_existing, write_whole
from foundation.errors import ConfigurationError, DataError

application = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
SETTINGS_MARK = "@"
"""Between an experiment and settings in place of its values."""

Contenders = Annotated[
    list[str],
    typer.Argument(
        metavar="SEARCH...",
        help="Results folders of searches, or with --curves experiments, EXPERIMENT[@KEY=VALUE,...].",
    ),
]
Curves = Annotated[
    Path | None, typer.Option(metavar="CURVES", help="A tabulated space, in which experiments are replayed.")
]
Seeds = Annotated[int, typer.Option(min=1, help="Search seeds of a replay: 0 to one less.")]


@application.callback()
def search() -> None:
    """Compare searches of one space, or export the curves of a search."""


@application.command("export")
def export_command(folder: ResultsFolder, out: Annotated[Path, typer.Argument(metavar="OUT.jsonl")]) -> None:
    """Write the learning curves of a finished search in the plain format, which `replay` reads."""
    from ledger.reading import snapshot_at
    from reports.statistics.experiment import experiment_of
    from runners.replay.curves import own_ledger, plain
    from runners.search.tabulated import with_points

    refuse_existing(out)
    found = snapshot_at(folder)
    experiment = experiment_of(found.document)
    if experiment.search is None:
        raise DataError(f"{folder}: its design is no search; curves have a place in a space of axes and genes")
    curves = own_ledger.read(folder)
    table = with_points(experiment, curves, {arm.name: arm.candidate for arm in found.arms})
    write_whole(out, plain.written(table).encode())
    left_out = f"; {table.left_out} without a last step left out" if table.left_out else ""
    typer.echo(f"exported: {out}: {len(table.candidates)} candidates x {len(table.steps)} points{left_out}")


@application.command("compare")
def compare(
    searches: Contenders, curves: Curves = None, scale: Scale = None, seeds: Seeds = 20, form: str = "terminal"
) -> None:
    """Print several searches of one space side by side: what each found, and what it cost."""
    from reports.formats import render
    from reports.search_comparison import comparison_report
    from reports.statistics.search_comparison import SearchComparison

    compared = tuple(_replayed(each, curves, scale, seeds) for each in searches)
    print(render(comparison_report(SearchComparison(compared), ""), form), end="")  # noqa: T201 — the result itself


def _replayed(named: str, curves: Path | None, scale: str | None, seeds: int) -> "ComparedSearch":
    from reports.statistics.search_comparison import ComparedSearch
    from runners.replay.curves.reading import read_curves
    from runners.search.simulated_trace import simulated_trace
    from runners.search.tabulated import Table

    (read,) = read_curves(curves)
    table = Table(read)
    experiment = _experiment(named, scale)
    traces = tuple(simulated_trace(_at_seed(experiment, seed), table) for seed in range(seeds))
    return ComparedSearch(_short(named), traces, f"{named}, replayed on {read.name} at {seeds} search seeds")


def _experiment(named: str, scale: str | None) -> Experiment:
    path, _, settings = named.partition(SETTINGS_MARK)
    experiment, _, _ = choose_any(Path(path), scale, settings.split(",") if settings else ())
    if isinstance(experiment, LatencyExperiment):
        raise ConfigurationError(f"{path}: a timing experiment; a search is needed")
    return experiment


def _short(named: str) -> str:
    """Return an experiment's file name, and its settings by the last words of their paths."""
    path, _, settings = named.partition(SETTINGS_MARK)
    last = map(_last, settings.split(","))
    return SETTINGS_MARK.join(filter(None, [Path(path).stem, ",".join(last)]))


def _last(setting: str) -> str:
    key, equals, value = setting.partition("=")
    return f"{key.rpartition('.')[2]}{equals}{value}"


def _at_seed(experiment: Experiment, seed: int) -> Experiment:
    assert experiment.search is not None
    return experiment.model_copy(update={"design": experiment.search.model_copy(update={"seed": seed})})
