"""Verdicts: every arm against the baseline on every metric, with p values and the minimum detectable effect."""

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
    """Yield the verdicts on the headline metrics; none without paired seeds."""
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
    columns += [Column(title, further=True) for title in ("min. detectable Δ", "seeds needed")]
    yield grid("effects", "Tests against the baseline", columns, cells)


def _cells(results: Results, arm: str, metric: Metric) -> Iterator[str]:
    compared, decimals = results.comparison(arm, metric), results.decimals(metric)
    at_chance = compared.significant and not is_finding(results, metric, (arm, BASELINE))
    yield f"{verdict_text(compared)}, at chance" if at_chance else verdict_text(compared)
    yield from (p_text(p) for p in (compared.p_holm, compared.p, compared.p_exact))
    minimum = compared.smallest_effect
    yield UNKNOWN if minimum is None else fixed(minimum, decimals)
    if compared.verdict is not Verdict.UNDECIDED or compared.p is None:
        yield NOTHING
    else:
        yield f"> {MOST_SEEDS}" if compared.seeds_to_decide is None else str(compared.seeds_to_decide)


def verdict_text(compared: Comparison) -> str:
    """Return the verdict in words, with the margin of an equivalence."""
    if compared.verdict is Verdict.NO_DIFFERENCE:
        return f"no difference larger than {compared.margin:g}"
    return str(compared.verdict)


def verdict_notes(results: Results) -> Iterator[str]:
    """Yield the definition of the verdicts and the number of tests in the correction."""
    names = " and ".join(metric.title for metric in results.headlines)
    headlines = {metric.name: metric for metric in results.headlines}
    cells = [(arm, headlines[name]) for arm, name in results.families[0]]
    significant = [(arm, metric) for arm, metric in cells if results.comparison(arm, metric).significant]
    tested = sum(results.comparison(arm, metric).p is not None for arm, metric in cells)
    yield (
        f"Verdicts: helps or hurts if p after Holm's correction is at most 0.05, over the {tested} tests on {names} "
        "(further metrics are a separate family); no difference larger than m if the 95% interval lies within the "
        "equivalence margin ±m; undecided otherwise."
    )
    if not all(is_finding(results, metric, (arm, BASELINE)) for arm, metric in significant):
        yield (
            "At chance: neither the arm nor the baseline exceeds chance significantly (one-sided t over seeds, Holm "
            "over arms), so that no difference is claimed."
        )


def _test_notes(results: Results) -> Iterator[str]:
    yield (
        "Sign flips: exact and without distributional assumptions, but with n seeds p is at least 2/2^n, so that "
        "Student's paired t decides."
    )
    yield (
        "Minimum detectable Δ: the true difference that one uncorrected test at 5% detects with 80% power; under the "
        "correction of the verdicts it is larger. Seeds needed: for 80% power at the observed Δ and sd."
    )
    if results.looks.counts:
        counts = ", ".join(map(str, results.looks.counts))
        yield (
            f"Group-sequential design with looks at {counts} seeds: undecided arms got more seeds, and each look "
            "spends a share of α. Intervals are therefore wider than those of a single look, and valid at any look."
        )


def _content(evidence: Evidence) -> Content:
    results = evidence.results
    grids = (with_notes(shown, verdict_notes(results), _test_notes(results)) for shown in effects_grid(results))
    return Content((effects_table(results),), tuple(grids))


SECTION = Section("effects", _content)
