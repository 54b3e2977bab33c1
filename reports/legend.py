"""Legends: below each table, what its signs and columns mean."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from configuration.arm import BASELINE
from configuration.metrics import ATTENTION_DIAGONAL
from reports.number_format import TWO_SEEDS
from reports.results import Results
from reports.sections.attention import attention_notes
from reports.sections.candidates import SEARCH, candidates_notes
from reports.sections.claims import claims_note
from reports.sections.factors import factors_note
from reports.sections.grids import Grid, with_notes
from reports.sections.matched_budget import matched_note
from reports.sections.searched_settings import settings_legend
from reports.sections.table import Table
from reports.sections.variance import low_variance
from reports.statistics.crossed import missing_runs_note
from reports.statistics.reference import is_finding

RESULTS = "results"
FACTORS = ("factors main", "factors interaction")


@dataclass(frozen=True)
class Below:
    """Notes for the first of some grids that is there."""

    grids: Sequence[str]
    notes: Iterable[str] = ()
    further: Iterable[str] = ()
    """Notes that a brief report leaves out."""


Legend = Iterable[Below]


def legend_of(results: Results, tables: Iterable[Table]) -> Legend:
    """Yield the notes of every grid that has any."""
    by_name = {table.name: table for table in tables}
    claims, factors = by_name["claims"], by_name.get("factors")
    yield Below(["candidates"], _candidates(results))
    yield Below([RESULTS], [*_results(results), *filter(None, [matched_note(results)])], _of_tasks(results))
    yield Below(["effects"], _verdicts(results), _tests(results))
    yield Below(["claims"], [claims_note(claims)] if claims.rows else [])
    yield Below(
        ["divergence"], ["Converged only: diverged seeds left out; as worst: the worst value in their place."]
    )
    yield Below([*FACTORS, RESULTS], filter(None, [missing_runs_note(results)]))
    yield Below(FACTORS, factors_note(results, factors) if factors else ())
    yield Below(
        ["noise"], ["Detectable Δ: by one uncorrected test at 5% with 80% power, the spread pooled over all arms."]
    )
    yield Below(["isolated"], ["Differences of two arms, not corrected for their number."])
    yield Below([ATTENTION_DIAGONAL], attention_notes(results))


def annotated(grids: Iterable[Grid], legend: Legend) -> tuple[Grid, ...]:
    """Return the grids with their notes, each below the last grid of its name."""
    found = list(grids)
    last = {grid.name: place for place, grid in enumerate(found)}
    for below in legend:
        place = next((last[name] for name in below.grids if name in last), None)
        if place is not None:
            found[place] = with_notes(found[place], below.notes, below.further)
    return tuple(found)


def _candidates(results: Results) -> Iterator[str]:
    if results.setting.design.kind == SEARCH:
        yield from candidates_notes(results)
    if results.setting.design.kind == SEARCH and len(results.arms) > 1:
        yield f"The best of {len(results.arms) - 1} candidates was chosen by the loss shown here: its Δ flatters it."


def _results(results: Results) -> Iterator[str]:
    effects = [results.effect(arm.name, metric) for arm in results.arms for metric in results.shown]
    tuned = len(results.setting.fine_tuning.seeds) if results.setting.tasks else 1
    crossed = f"; a task's value at a seed is the mean over its {tuned} fine-tuning seeds" if tuned > 1 else ""
    yield f"mean ± sd (n): over n pretraining seeds{crossed}."
    yield "Δ [low, high]: difference from the baseline, paired by pretraining seed: mean and 95% interval (paired t)."
    if any(effect.difference.one_degree for effect in effects):
        yield (
            f"{TWO_SEEDS}: two seeds, one degree of freedom: the width rests on a single difference between two "
            "values and may be small by chance."
        )
    yield "*: best mean of its column, and significantly different from the baseline after Holm's correction."
    yield "Held-out loss in nats, lower is better; tasks and score (the tasks' mean) 0 to 100, higher is better."
    if any(effect.n == 1 for effect in effects):
        yield "?: a single seed has no spread and no interval."
    if any(effect.n == 0 for effect in effects):
        yield "–: not measured at the end of the budget."
    if any(results.diverged(arm.name)[0] for arm in results.arms):
        yield "Diverged seeds are left out here; with the worst value in their place: Diverged seeds, both ways."


def _of_tasks(results: Results) -> Iterator[str]:
    if low_variance(results):
        yield "low variance: seeds spread it by at most half the tasks' median; it shows smaller differences."
    yield from settings_legend(results)


def _verdicts(results: Results) -> Iterator[str]:
    names = " and ".join(metric.title for metric in results.headlines)
    headlines = {metric.name: metric for metric in results.headlines}
    cells = [(arm, headlines[name]) for arm, name in results.families[0]]
    told = [(arm, metric) for arm, metric in cells if results.comparison(arm, metric).told]
    tested = sum(results.comparison(arm, metric).p is not None for arm, metric in cells)
    yield (
        f"Verdicts: helps or hurts where Holm's p is at most 0.05, over the {tested} tests on {names} (further "
        "metrics are a family of their own); no difference larger than m where the 95% interval lies within ±m."
    )
    if not all(is_finding(results, metric, (arm, BASELINE)) for arm, metric in told):
        yield (
            "At chance: neither the arm nor the baseline exceeds chance significantly (one-sided t over seeds, Holm "
            "over arms), so the difference is no finding."
        )


def _tests(results: Results) -> Iterator[str]:
    yield (
        "Sign flips: exact and without assumptions, but n seeds never bring its p below 2/2^n, so Student's paired t "
        "decides."
    )
    yield (
        "Detectable Δ: the true difference that one uncorrected test at 5% detects with 80% power. The verdict "
        "beside it is corrected: under the correction the detectable difference is larger. Seeds needed: for 80% "
        "power if the true Δ and sd equal the observed ones."
    )
    if results.looks.counts:
        counts = ", ".join(map(str, results.looks.counts))
        yield (
            f"Seeds were added to what was undecided at {counts} seeds; each look spends its share of the error, so "
            "intervals are wider than 95% at one look and hold at whichever look an arm stopped."
        )
