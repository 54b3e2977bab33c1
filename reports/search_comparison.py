"""The report of a comparison of searches: what each found, what it cost, and the lowest loss by cost."""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial

from reports.document import Report
from reports.figures.figure import Picture
from reports.number_format import NOTHING, decimals_for, difference_text, fixed, mean_text
from reports.sections import best_by_cost
from reports.statistics.search_comparison import PRICES, ComparedSearch, SearchComparison
from reports.table import Column, Grid, Row, Table, interval, printable, shown, table, words
from steeplechase.analysis.difference import Effect
from steeplechase.analysis.search_trace import SearchTrace
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.yaml.text import experiment_text
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
Measure = Callable[[SearchTrace], float | None]
_FOUND: dict[str, Measure] = {
    "best_seen": lambda trace: trace.best,
    "chosen_final": lambda trace: trace.chosen_loss,
    "cost": lambda trace: trace.cost,
}
_MEASURES: dict[str, Measure] = {
    **_FOUND,
    "candidates": lambda trace: float(trace.candidates),
    "finished": lambda trace: float(trace.finished),
    "duplicates": lambda trace: None if trace.duplicates is None else float(trace.duplicates),
    "seconds": lambda trace: trace.seconds,
}
COSTS = {
    "cost": "full trainings",
    "candidates": "candidates",
    "finished": "fully trained",
    "duplicates": "duplicates",
    "seconds": "seconds",
}
"""The measures of the table of costs with their titles."""


def comparison_report(comparison: SearchComparison, experiment: Experiment) -> Report:
    """Return the report of searches of a space; the experiment is that of the first one."""
    search = experiment.search
    assert search is not None
    comment = f"{printable(experiment.experiment)}: the first of the searches"
    programs = (f"programs of {stack} from {option.kind}" for stack, option in search.structure.items())
    axes = ", ".join((*search.space, *programs))
    return Report(
        experiment="comparison of searches",
        scale="",
        question=f"What do searches of one space find at equal cost? Axes: {axes}.",
        statements=(finding(comparison),),
        paper="",
        tables=(_summary(comparison), _by_seed(comparison), _by_cost(comparison)),
        grids=tuple(_grids(comparison)),
        footer=tuple((search.name, search.source) for search in comparison.searches),
        trials=_trainings(comparison),
        figures=lambda: (Picture(best_by_cost.FIGURE, comparison),),
        declared=lambda: experiment_text(experiment, comment),
    )


def finding(comparison: SearchComparison) -> str:
    """Return what differs from the first search in the final loss of the chosen candidate."""
    sentences, reference = [], comparison.reference.name
    for search in comparison.searches[1:]:
        found, measure = comparison.effect(search, _FOUND["chosen_final"]), "final loss of the chosen candidate"
        if found.difference.delta is None:
            found, measure = comparison.effect(search, _FOUND["best_seen"]), "lowest loss seen"
        if found.difference.delta is None:
            sentences.append(f"{search.name} shares no measured loss with {reference}.")
            continue
        shown = f"Δ {difference_text(found.difference, _decimals(comparison))}, n = {found.difference.n}"
        sentences.append(f"{search.name} against {reference}: {measure} {_word(found)} ({shown}).")
    return " ".join(sentences) or f"One search: {reference}."


def _word(found: Effect) -> str:
    """Return what the difference shows: its sign where the interval excludes zero."""
    difference = found.difference
    if difference.low is None:
        why = "at one search seed" if difference.n == 1 else "since it does not vary over search seeds"
        return f"without an interval, {why}"
    if not difference.excludes_zero:
        return "not significantly different"
    return "lower" if (difference.delta or 0.0) < 0 else "higher"


def _summary(comparison: SearchComparison) -> Table:
    """Return a row per search and measure: mean, spread and difference."""
    rows = (
        {"search": search.name, "measure": name, **_columns_of(comparison.effect(search, value))}
        for search in comparison.searches
        for name, value in {**_MEASURES, **_volumes(comparison)}.items()
    )
    return table("results", "search measure mean sd n delta low high", rows)


def _columns_of(found: Effect) -> Row:
    return {"mean": found.mean, "sd": found.sd, "n": found.n, **interval(found.difference)}


def _volumes(comparison: SearchComparison) -> dict[str, Measure]:
    """Return the hypervolume of each trade-off."""
    return {
        f"hypervolume_{price}": lambda trace, price=price: comparison.hypervolume(trace, price)  # type: ignore[misc]
        for price in PRICES
    }


def _by_seed(comparison: SearchComparison) -> Table:
    """Return what every search found at every seed, from which all differences follow."""
    rows: list[Row] = []
    for search in comparison.searches:
        for trace in search.traces:
            values = {name: value(trace) for name, value in _FOUND.items()}
            known = {name: None if value is None else finite(value) for name, value in values.items()}
            rows.append({"search": search.name, "seed": trace.seed, **known})
    return table(BY_SEED, " ".join(("search seed", *_FOUND)), rows)


def _by_cost(comparison: SearchComparison) -> Table:
    """Return the lowest loss so far by cost and search."""
    rows = (
        {"search": search.name, "cost": cost, **_columns_of(_at(comparison, search, cost))}
        for search in comparison.searches
        for cost in comparison.costs
    )
    return table("loss_at_costs", "search cost mean sd n delta low high", rows)


def _trainings(comparison: SearchComparison) -> Table:
    """Return a row per training of every search at every seed."""
    rows = (
        {"search": search.name, "seed": trace.seed, **asdict(training)}
        for search in comparison.searches
        for trace in search.traces
        for training in trace.trainings
    )
    return table("trainings", "search seed candidate spent loss finished forward_flops seconds", rows)


def _grids(comparison: SearchComparison) -> Iterator[Grid]:
    decimals, named = _decimals(comparison), words("search", lambda search: search.name)

    def delta(value: Measure, search: ComparedSearch) -> str:
        if search is comparison.reference:
            return NOTHING
        return difference_text(comparison.effect(search, value).difference, decimals)

    def mean_at(cost: float, search: ComparedSearch) -> str:
        mean = _at(comparison, search, cost).mean
        return NOTHING if mean is None else fixed(mean, decimals)

    measures = {"best seen": _FOUND["best_seen"], "chosen": _FOUND["chosen_final"]}
    volumes = zip(PRICES.values(), _volumes(comparison).values(), strict=True)
    measures |= {f"hypervolume, {title}": value for title, value in volumes}
    columns = [named]
    for title, value in measures.items():
        if any(comparison.effect(search, value).mean is not None for search in comparison.searches):
            columns.append(_mean_column(comparison, "mean ± sd (n)", value, decimals, title))
            columns.append(Column("Δ [95%]", title, read=partial(delta, value)))
    notes = (LOSS_NOTE, PAIRED_NOTE, VOLUME_NOTE)
    yield from shown("searches", "What each search found, held-out loss in nats", columns, comparison.searches, notes)
    columns = [named, *(_mean_column(comparison, title, _MEASURES[name], 1) for name, title in COSTS.items())]
    title = "What each search cost, mean ± sd (n) over search seeds"
    yield from shown("search_costs", title, columns, comparison.searches, (COST_NOTE,))
    columns = [Column(f"{cost:.3g}", read=partial(mean_at, cost)) for cost in comparison.costs]
    title = "Lowest loss seen by full trainings spent, mean over search seeds"
    yield from shown("loss_at_costs", title, [named, *columns], comparison.searches)


def _mean_column(comparison: SearchComparison, title: str, value: Measure, decimals: int, group: str = "") -> Column:
    return Column(title, group, read=lambda search: mean_text(comparison.effect(search, value), decimals))


def _at(comparison: SearchComparison, search: ComparedSearch, cost: float) -> Effect:
    """Return the lowest loss within a cost; only seeds that have found something by then."""
    return comparison.effect(search, lambda trace: float(trace.best_at([cost])[0]))


def _decimals(comparison: SearchComparison) -> int:
    return decimals_for((comparison.effect(search, _FOUND["best_seen"]).sd for search in comparison.searches), 3)
