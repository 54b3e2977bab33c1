"""`steeplechase search`: searches of one space side by side, and the curves of a search for replays."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from reports.search_comparison import comparison_report
from reports.statistics.experiment import experiment_of
from reports.statistics.search_comparison import ComparedSearch, SearchComparison
from reports.write import write_report
from runners.flags import Scale
from runners.replay.curves import plain
from runners.replay.curves.reading import read_curves, read_one
from runners.replay.recorded_decisions import reproduce
from runners.replay.simulated import Table, simulated_trace, with_points
from steeplechase.commands.arguments import ResultsFolder, choose
from steeplechase.commands.report import TERMINAL, ReportFormat, print_report
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.atomic_files import make_folder, refuse_existing, write_whole
from steeplechase.foundation.canonical import canonical, canonical_text
from steeplechase.foundation.errors import ConfigurationError, ConflictError, DataError
from steeplechase.foundation.schema import JsonValue
from steeplechase.ledger.search_trace import recorded_trace
from steeplechase.ledger.snapshot import open_rows, snapshot_at

SEEDS = 20

application = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

Contenders = Annotated[
    list[str],
    typer.Argument(
        metavar="SEARCH...",
        help="Results folders of searches; with --curves experiments, as EXPERIMENT or EXPERIMENT@KEY=VALUE.",
    ),
]
Curves = Annotated[
    Path | None, typer.Option(metavar="CURVES", help="A tabulated space, in which experiments are replayed.")
]
Seeds = Annotated[int, typer.Option(min=1, help="Number of search seeds of a replay, from 0 on.")]


@application.callback()
def search() -> None:
    """Compare searches of one space, or export the curves of a search."""


@application.command("export")
def export_command(
    folder: ResultsFolder,
    out: Annotated[Path, typer.Argument(metavar="OUT.jsonl", help="The file to write; it must not exist yet.")],
) -> None:
    """Write the learning curves of a finished search in the plain format, which `replay` reads."""
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


def _table(path: Path) -> Table:
    read = read_curves(path)
    if len(read) != 1:
        raise DataError(f"{path}: {len(read)} tasks; one tabulated space is needed")
    return Table(read[0])


SETTINGS_MARK = "@"
"""Between an experiment and settings in place of its values."""


@dataclass(frozen=True)
class Contender:
    """A search with its experiment, whose space and baseline must be those of the others."""

    search: ComparedSearch
    experiment: Experiment


def recorded(folder: Path) -> Contender:
    """Return the search of a results folder, at its one seed. Raises DataError for an experiment of another kind."""
    found = snapshot_at(folder)
    experiment = experiment_of(found.document)
    if experiment.search is None:
        raise DataError(f"{folder}: its design is no search")
    trace = recorded_trace(found, experiment, _duplicates(folder, experiment))
    if not trace.trainings:
        raise DataError(f"{folder}: no candidate of its search has been trained yet")
    return Contender(ComparedSearch(experiment.experiment, (trace,), f"results in {folder}"), experiment)


def _duplicates(folder: Path, experiment: Experiment) -> int | None:
    """Return the children that a policy has not trained again; None if its decisions are of other code."""
    assert experiment.search is not None
    if experiment.search.policy is None:
        return None
    with open_rows(folder) as rows:
        try:
            return reproduce(experiment, rows).duplicates
        except ConflictError:
            return None


def replayed(named: str, table: Table, scale: str | None, seeds: int) -> Contender:
    """Return the search of an experiment on a table at seeds 0 to one less; `named` is EXPERIMENT[@KEY=VALUE,...].

    Raises ConfigurationError for a file that is no search, or of another table.
    """
    path, _, settings = named.partition(SETTINGS_MARK)
    experiment, _, _ = choose(Path(path), scale, settings.split(",") if settings else ())
    if experiment.search is None:
        raise ConfigurationError(f"{path}: its design is no search")
    try:
        traces = tuple(simulated_trace(at_seed(experiment, seed), table) for seed in range(seeds))
    except ConfigurationError as refusal:
        raise ConfigurationError(f"{path}: {line}" for line in refusal.lines) from refusal
    source = f"{named}, replayed on {table.curves.name} at {seeds} search seeds"
    return Contender(ComparedSearch(_short(path, settings), traces, source), experiment)


def at_seed(experiment: Experiment, seed: int) -> Experiment:
    """Return the experiment with another seed of its search."""
    designs = (
        design if design is not experiment.search else design.model_copy(update={"seed": seed})
        for design in experiment.designs
    )
    changed = tuple(designs)
    return experiment.model_copy(update={"design": changed if isinstance(experiment.design, tuple) else changed[0]})


def _short(path: str, settings: str) -> str:
    """Return an experiment's file name, and its settings by the last words of their paths."""
    return SETTINGS_MARK.join(filter(None, [Path(path).stem, ",".join(map(_last, settings.split(",")))]))


def _last(setting: str) -> str:
    key, equals, value = setting.partition("=")
    return f"{key.rpartition('.')[2]}{equals}{value}"


def grouped(contenders: Sequence[Contender]) -> tuple[ComparedSearch, ...]:
    """Return the searches, those that differ in the seed of the search alone as one at several seeds.

    Raises ConflictError for one seed twice, and for searches of other spaces, baselines or trainings.
    """
    for contender in contenders[1:]:
        _refuse_other_space(contenders[0], contender)
    groups: dict[str, list[Contender]] = {}
    for position, contender in enumerate(contenders):
        recorded_at_one_seed = len(contender.search.traces) == 1
        key = canonical_text(_without_seed(contender.experiment)) if recorded_at_one_seed else str(position)
        groups.setdefault(key, []).append(contender)
    return _named([_one(group) for group in groups.values()])


def _one(group: Sequence[Contender]) -> ComparedSearch:
    traces = sorted((trace for each in group for trace in each.search.traces), key=lambda trace: trace.seed)
    seeds = [trace.seed for trace in traces]
    twice = next((seed for seed in seeds if seeds.count(seed) > 1), None)
    sources = "; ".join(each.search.source for each in group)
    if twice is not None:
        raise ConfigurationError(f"{sources}: one search at seed {twice} twice; leave one of them out")
    return ComparedSearch(group[0].search.name, tuple(traces), sources)


def _named(searches: Sequence[ComparedSearch]) -> tuple[ComparedSearch, ...]:
    """Return the searches with a number after names that are not unique."""
    names = [search.name for search in searches]
    return tuple(
        search
        if names.count(search.name) == 1
        else ComparedSearch(f"{search.name} {number}", search.traces, search.source)
        for number, search in enumerate(searches, start=1)
    )


def _without_seed(experiment: Experiment) -> dict[str, JsonValue]:
    document = canonical(at_seed(experiment, 0))
    return {**document, "tracking": None}


def _refuse_other_space(first: Contender, other: Contender) -> None:
    """Raise ConflictError for the first part of a search that decides its losses and differs."""
    for part, value in _comparable(first.experiment).items():
        theirs = _comparable(other.experiment)[part]
        if canonical_text(value) != canonical_text(theirs):
            own_text, other_text = (canonical_text(each)[:80] for each in (value, theirs))
            message = f"{other.search.source}: its {part} is not that of {first.search.source}"
            raise ConflictError(f"{message}: {other_text} and {own_text}")


def _comparable(experiment: Experiment) -> dict[str, JsonValue]:
    search, document = experiment.search, canonical(experiment)
    assert search is not None
    design = canonical(search)
    pretraining = document["pretraining"]
    assert isinstance(pretraining, dict)
    return {
        "space of axes": design.get("space"),
        "structure": design.get("structure"),
        "constraints": document.get("constraints"),
        "baseline": document["baseline"],
        "corpus": document.get("corpus"),
        "budget of a training": pretraining.get("tokens"),
        "pretraining seeds": pretraining.get("seeds"),
        "evaluation set": pretraining.get("held_out_sequences"),
    }
