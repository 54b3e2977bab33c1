"""The verdicts as a table: every arm on every metric, with the tests behind it and the detectable difference."""

from collections.abc import Iterator

from analysis.power import MOST_SEEDS
from configuration.arm import BASELINE
from reports.grid import Column, Grid, grid, with_notes
from reports.number_format import NOTHING, UNKNOWN, fixed, p_text
from reports.section import Content, Section
from reports.statistics.comparisons import Comparison, Verdict
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.reference import is_finding
from reports.statistics.results import Results
from reports.table import Row, Table, interval, table

COLUMNS = (
    "arm metric n delta low high p p_exact p_holm smallest_effect margin verdict seeds_to_decide diverged trials"
)


def effects_table(results: Results) -> Table:
    """Return a verdict for every arm but the baseline on every metric."""
    return table("effects", COLUMNS, _rows(results))


def _rows(results: Results) -> Iterator[Row]:
    for arm in results.arms:
        for metric in results.metrics if arm.name != BASELINE else ():
            difference = results.effect(arm.name, metric).difference
            compared = results.comparison(arm.name, metric)
            diverged, trials = results.diverged(arm.name)
            yield {
                "arm": arm.name,
                "metric": metric.name,
                "n": difference.pairs,
                **interval(difference),
                "p": compared.p,
                "p_exact": compared.p_exact,
                "p_holm": compared.p_holm,
                "smallest_effect": compared.smallest_effect,
                "margin": compared.margin,
                "verdict": str(compared.verdict),
                "seeds_to_decide": compared.seeds_to_decide,
                "diverged": diverged,
                "trials": trials,
            }


def effects_grid(results: Results) -> Iterator[Grid]:
    """Yield the verdicts on the headline metrics, none where nothing is paired."""
    cells = [
        [arm.name, metric.title, *_cells(results, arm.name, metric)]
        for metric in results.headlines
        for arm in results.arms
        if arm.name != BASELINE and results.effect(arm.name, metric).difference.pairs
    ]
    if not cells:
        return
    columns = [Column("arm", numeric=False), Column("metric", numeric=False), Column("verdict", numeric=False)]
    columns += [Column("Holm", "p"), *(Column(test, "p", further=True) for test in ("paired t", "sign flips"))]
    columns += [Column(title, further=True) for title in ("detectable Δ", "seeds needed")]
    yield grid("effects", "Against the baseline", columns, cells)


def _cells(results: Results, arm: str, metric: Metric) -> Iterator[str]:
    compared, decimals = results.comparison(arm, metric), results.decimals(metric)
    chance = compared.significant and not is_finding(results, metric, (arm, BASELINE))
    yield f"{verdict_text(compared)}, at chance" if chance else verdict_text(compared)
    yield from (p_text(p) for p in (compared.p_holm, compared.p, compared.p_exact))
    seen = compared.smallest_effect
    yield UNKNOWN if seen is None else fixed(seen, decimals)
    if compared.verdict is not Verdict.UNDECIDED or compared.p is None:
        yield NOTHING
    else:
        yield f"> {MOST_SEEDS}" if compared.seeds_to_decide is None else str(compared.seeds_to_decide)


def verdict_text(compared: Comparison) -> str:
    """Return the verdict in words, with the margin where it is one on size."""
    if compared.verdict is Verdict.NO_DIFFERENCE:
        return f"no difference larger than {compared.margin:g}"
    return str(compared.verdict)


def verdict_notes(results: Results) -> Iterator[str]:
    """Yield what a verdict means and how many tests it is corrected for."""
    names = " and ".join(metric.title for metric in results.headlines)
    headlines = {metric.name: metric for metric in results.headlines}
    cells = [(arm, headlines[name]) for arm, name in results.families[0]]
    significant = [(arm, metric) for arm, metric in cells if results.comparison(arm, metric).significant]
    tested = sum(results.comparison(arm, metric).p is not None for arm, metric in cells)
    yield (
        f"Verdicts: helps or hurts where Holm's p is at most 0.05, over the {tested} tests on {names} (further "
        "metrics are a family of their own); no difference larger than m where the 95% interval lies within ±m."
    )
    if not all(is_finding(results, metric, (arm, BASELINE)) for arm, metric in significant):
        yield (
            "At chance: neither the arm nor the baseline exceeds chance significantly (one-sided t over seeds, Holm "
            "over arms), so the difference is no finding."
        )


def _test_notes(results: Results) -> Iterator[str]:
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


def _content(evidence: Evidence) -> Content:
    results = evidence.results
    grids = (with_notes(shown, verdict_notes(results), _test_notes(results)) for shown in effects_grid(results))
    return Content((effects_table(results),), tuple(grids))


SECTION = Section("effects", _content)
