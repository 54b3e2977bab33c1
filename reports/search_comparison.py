"""The report of a comparison of searches: what each found, what it cost, and the lowest loss by cost."""

from collections.abc import Callable, Iterator

from reports.document import Report
from reports.figures.figure import Picture
from reports.grid import Column, Grid, grid
from reports.number_format import NOTHING, decimals_for, difference_text, fixed, mean_text
from reports.sanitise import printable
from reports.sections import best_by_cost
from reports.statistics.search_comparison import PRICES, ComparedSearch, SearchComparison
from reports.table import Row, Table, interval, table
from steeplechase.analysis.difference import Effect
from steeplechase.analysis.search_trace import SearchTrace
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.yaml.writing import experiment_text
from steeplechase.ledger.stage_results import finite

BY_SEED = "by_seed"
PAIRED_NOTE = (
    "Δ is from the first search, paired by search seed where both have the seeds, else Welch's; 95% intervals"
)
LOSS_NOTE = (
    "best seen: the lowest held-out loss observed; chosen: the final loss of that candidate in a full training"
)
COST_NOTE = "cost in full trainings of a candidate, by share of tokens, without the baseline and the audit"
VOLUME_NOTE = (
    "hypervolume: the share, dominated by the candidates of a search, of the box between the best and the worst loss "
    "and price of all searches; FLOPs are of one sequence, seconds those of a candidate's training"
)


def comparison_report(comparison: SearchComparison, experiment: Experiment) -> Report:
    """Return the report of searches of a space; the experiment is that of the first one."""
    tables = (summary_table(comparison), by_seed_table(comparison), by_cost_table(comparison))
    return Report(
        experiment="comparison of searches",
        scale="",
        question=f"What do searches of one space find at equal cost? {_space(experiment)}",
        statements=(finding(comparison),),
        paper="",
        tables=tables,
        grids=tuple(_grids(comparison)),
        footer=tuple((search.name, search.source) for search in comparison.searches),
        trials=trials_table(comparison),
        pictures=(Picture(best_by_cost.FIGURE, comparison),),
        declaration=experiment_text(experiment, f"{printable(experiment.experiment)}: the first of the searches"),
    )


def _space(experiment: Experiment) -> str:
    search = experiment.search
    assert search is not None
    axes = [*search.space, *(f"programs of {stack} from {option.kind}" for stack, option in search.structure.items())]
    return f"Axes: {', '.join(axes)}."


def finding(comparison: SearchComparison) -> str:
    """Return what differs from the first search in the final loss of the chosen candidate."""
    sentences = []
    reference = comparison.reference.name
    for search in comparison.searches[1:]:
        found = comparison.effect(search, _chosen)
        measure = "final loss of the chosen candidate"
        if found.difference.delta is None:
            found, measure = comparison.effect(search, _best), "lowest loss seen"
        if found.difference.delta is None:
            sentences.append(f"{search.name} shares no measured loss with {reference}.")
            continue
        word = _word(found)
        text = difference_text(found.difference, _decimals(comparison))
        shown = f"Δ {text}, n = {found.difference.n}"
        sentences.append(f"{search.name} against {reference}: {measure} {word} ({shown}).")
    return " ".join(sentences) or f"One search: {reference}."


def _word(found: Effect) -> str:
    """Return what the difference shows: its sign where the interval excludes zero."""
    difference = found.difference
    assert difference.delta is not None
    if difference.low is None:
        why = "at one search seed" if difference.n == 1 else "since it does not vary over search seeds"
        return f"without an interval, {why}"
    if not difference.excludes_zero:
        return "not significantly different"
    return "lower" if difference.delta < 0 else "higher"


def summary_table(comparison: SearchComparison) -> Table:
    """Return a row per search and measure: mean, spread and difference."""
    rows: list[Row] = []
    for search in comparison.searches:
        for name, value in _MEASURES.items():
            found = comparison.effect(search, value)
            rows.append(_measured(search, name, found))
        for price in PRICES:
            rows.append(_measured(search, f"hypervolume_{price}", _volume(comparison, search, price)))
    return table("results", "search measure mean sd n delta low high", rows)


def _measured(search: ComparedSearch, name: str, found: Effect) -> Row:
    return {
        "search": search.name,
        "measure": name,
        "mean": found.mean,
        "sd": found.sd,
        "n": found.n,
        **interval(found.difference),
    }


def by_seed_table(comparison: SearchComparison) -> Table:
    """Return what every search found at every seed, from which all differences follow."""
    rows = (
        {"search": search.name, "seed": trace.seed, **{name: _known(value(trace)) for name, value in _FOUND.items()}}
        for search in comparison.searches
        for trace in search.traces
    )
    return table(BY_SEED, " ".join(("search seed", *_FOUND)), rows)


def _known(value: float | None) -> float | None:
    return None if value is None else finite(value)


def by_cost_table(comparison: SearchComparison) -> Table:
    """Return the lowest loss so far by cost and search."""
    rows: list[Row] = []
    for search in comparison.searches:
        for cost in comparison.costs:
            found = _at(comparison, search, cost)
            rows.append(
                {
                    "search": search.name,
                    "cost": cost,
                    "mean": found.mean,
                    "sd": found.sd,
                    "n": found.n,
                    **interval(found.difference),
                }
            )
    return table("loss_at_costs", "search cost mean sd n delta low high", rows)


def trials_table(comparison: SearchComparison) -> Table:
    """Return a row per training of every search at every seed."""
    rows = (
        {
            "search": search.name,
            "seed": trace.seed,
            "candidate": training.candidate,
            "spent": training.spent,
            "loss": training.loss,
            "finished": training.finished,
            "forward_flops": training.forward_flops,
            "seconds": training.seconds,
        }
        for search in comparison.searches
        for trace in search.traces
        for training in trace.trainings
    )
    return table("trainings", "search seed candidate spent loss finished forward_flops seconds", rows)


def _grids(comparison: SearchComparison) -> Iterator[Grid]:
    decimals = _decimals(comparison)
    effects = {
        "best seen": [comparison.effect(search, _best) for search in comparison.searches],
        "chosen": [comparison.effect(search, _chosen) for search in comparison.searches],
    }
    for price, title in PRICES.items():
        effects[f"hypervolume, {title}"] = [_volume(comparison, search, price) for search in comparison.searches]
    known = {title: found for title, found in effects.items() if any(each.mean is not None for each in found)}
    columns = [Column("search", numeric=False)]
    columns += [Column(name, title) for title in known for name in ("mean ± sd (n)", "Δ [95%]")]
    rows = []
    for place, search in enumerate(comparison.searches):
        cells = [
            (mean_text(found[place], decimals), _delta(comparison, search, found[place], decimals))
            for found in known.values()
        ]
        rows.append([search.name, *(text for pair in cells for text in pair)])
    notes = (LOSS_NOTE, PAIRED_NOTE, VOLUME_NOTE)
    yield _with_notes(grid("searches", "What each search found, held-out loss in nats", columns, rows), notes)
    yield _with_notes(_cost_grid(comparison), (COST_NOTE,))
    yield _curve_grid(comparison, decimals)


def _cost_grid(comparison: SearchComparison) -> Grid:
    names = ("cost", "candidates", "finished", "duplicates", "seconds")
    titles = ("full trainings", "candidates", "fully trained", "duplicates", "seconds")
    rows = [
        [search.name, *(mean_text(comparison.effect(search, _MEASURES[name]), 1) for name in names)]
        for search in comparison.searches
    ]
    columns = [Column("search", numeric=False), *(Column(title) for title in titles)]
    return grid("search_costs", "What each search cost, mean ± sd (n) over search seeds", columns, rows)


def _curve_grid(comparison: SearchComparison, decimals: int) -> Grid:
    columns = [Column("search", numeric=False), *(Column(f"{cost:.3g}") for cost in comparison.costs)]
    rows = []
    for search in comparison.searches:
        means = [_at(comparison, search, cost).mean for cost in comparison.costs]
        rows.append([search.name, *(NOTHING if mean is None else fixed(mean, decimals) for mean in means)])
    return grid("loss_at_costs", "Lowest loss seen by full trainings spent, mean over search seeds", columns, rows)


def _volume(comparison: SearchComparison, search: ComparedSearch, price: str) -> Effect:
    return comparison.effect(search, lambda trace: comparison.hypervolume(trace, price))


def _with_notes(made: Grid, notes: tuple[str, ...]) -> Grid:
    return Grid(made.name, made.title, made.columns, made.rows, notes)


def _delta(comparison: SearchComparison, search: ComparedSearch, found: Effect, decimals: int) -> str:
    return NOTHING if search is comparison.reference else difference_text(found.difference, decimals)


def _at(comparison: SearchComparison, search: ComparedSearch, cost: float) -> Effect:
    """Return the lowest loss within a cost; only seeds that have found something by then."""
    return comparison.effect(search, lambda trace: float(trace.best_at([cost])[0]))


def _decimals(comparison: SearchComparison) -> int:
    return decimals_for((comparison.effect(search, _best).sd for search in comparison.searches), 3)


def _best(trace: SearchTrace) -> float:
    return trace.best


def _chosen(trace: SearchTrace) -> float | None:
    return trace.chosen_loss


_FOUND: dict[str, Callable[[SearchTrace], float | None]] = {
    "best_seen": _best,
    "chosen_final": _chosen,
    "cost": lambda trace: trace.cost,
}
_MEASURES = {
    **_FOUND,
    "candidates": lambda trace: float(trace.candidates),
    "finished": lambda trace: float(trace.finished),
    "duplicates": lambda trace: None if trace.duplicates is None else float(trace.duplicates),
    "seconds": lambda trace: trace.seconds,
}
