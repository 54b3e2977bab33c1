"""The verdicts as a table: every arm on every metric, with the tests behind it and the detectable difference."""

from collections.abc import Iterator

from analysis.power import MOST_SEEDS
from configuration.arm import BASELINE
from reports.grid import Column, Grid, grid
from reports.number_format import NOTHING, UNKNOWN, fixed, p_text
from reports.statistics.comparisons import Comparison, Verdict
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
    """Yield the verdicts on the metrics that a finding speaks of, none where nothing is paired."""
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
    chance = compared.told and not is_finding(results, metric, (arm, BASELINE))
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
