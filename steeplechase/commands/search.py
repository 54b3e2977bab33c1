"""`steeplechase search`: searches of one space side by side, and the curves of a search for replays."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runners.flags import Scale
from steeplechase.commands.arguments import ResultsFolder
from steeplechase.commands.report import TERMINAL, ReportFormat, print_report
from steeplechase.foundation.atomic_files import make_folder, refuse_existing, write_whole
from steeplechase.foundation.errors import ConfigurationError, DataError

if TYPE_CHECKING:
    from runners.replay.simulated import Table

SEEDS = 20

application = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

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
    from reports.statistics.experiment import experiment_of
    from runners.replay.curves import plain
    from runners.replay.curves.reading import read_one
    from runners.replay.simulated import with_points
    from steeplechase.ledger.reading import snapshot_at

    refuse_existing(out)
    found = snapshot_at(folder)
    experiment = experiment_of(found.document)
    if experiment.search is None:
        raise DataError(f"{folder}: its design is no search; curves have a place in a space of axes and genes")
    curves = read_one(folder)
    table = with_points(experiment, curves, {arm.name: arm.candidate for arm in found.arms})
    write_whole(out, plain.written(table).encode())
    left_out = f"; {table.left_out} without a last step left out" if table.left_out else ""
    typer.echo(f"exported: {out}: {len(table.candidates)} candidates x {len(table.steps)} points{left_out}")


@application.command("compare")
def compare(
    searches: Contenders,
    curves: Curves = None,
    scale: Scale = None,
    seeds: Seeds = SEEDS,
    form: ReportFormat = TERMINAL,
    out: Annotated[
        Path | None, typer.Option(metavar="OUT", help="A new folder: tables, figure, every format.")
    ] = None,
) -> None:
    """Print several searches of one space side by side: what each found, and what it cost.

    Results folders that differ in `design.seed` alone are one search at several seeds.
    """
    from reports.search_comparison import comparison_report
    from reports.statistics.search_comparison import SearchComparison
    from reports.write import write_report
    from steeplechase.commands.searching.contenders import grouped, recorded, replayed

    replays = {"--curves": curves is not None, "--scale": scale is not None, "--seeds": seeds != SEEDS}
    if all(Path(named).is_dir() for named in searches) and any(replays.values()):
        given = ", ".join(flag for flag, is_given in replays.items() if is_given)
        raise ConfigurationError(f"{searches[0]}: results folders are not replayed; leave {given} out")
    table = None if curves is None else _table(curves)
    contenders = []
    for named in searches:
        if Path(named).is_dir():
            contenders.append(recorded(Path(named)))
        elif table is None:
            raise ConfigurationError(f"{named}: no results folder; an experiment needs --curves to be replayed on")
        else:
            contenders.append(replayed(named, table, scale, seeds))
    report = comparison_report(SearchComparison(grouped(contenders)), contenders[0].experiment)
    if out is not None:
        refuse_existing(out)
        make_folder(out)
        write_report(report, out)
    print_report(report, form)


def _table(path: Path) -> "Table":
    from runners.replay.curves.reading import read_curves
    from runners.replay.simulated import Table

    read = read_curves(path)
    if len(read) != 1:
        raise DataError(f"{path}: {len(read)} tasks; one tabulated space is needed")
    return Table(read[0])
