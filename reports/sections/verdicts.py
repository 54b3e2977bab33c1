"""Verdicts: every arm against the baseline on every metric, with p values, intervals and the detectable effect."""

from collections.abc import Iterator

from reports.grid import Column, Grid, grid, with_notes
from reports.number_format import NOTHING, UNKNOWN, fixed, p_text, simultaneous_text
from reports.section import Content, Section
from reports.statistics.comparisons import TEST_NAMES, Comparison, Verdict
from reports.statistics.evidence import Evidence
from reports.statistics.metrics import Metric
from reports.statistics.results import Results
from reports.table import Row, Table, interval, table
from steeplechase.analysis.difference import MeanTest
from steeplechase.analysis.estimates import array_of
from steeplechase.analysis.pairing import PairingGain, pairing_gain
from steeplechase.analysis.power import MOST_SEEDS
from steeplechase.configuration.arm import BASELINE

COLUMNS = (
    "arm metric n delta low high test degrees p p_paired p_adjusted level simultaneous_low simultaneous_high "
    "smallest_effect detectable_low detectable_high margin p_equivalence verdict seeds_to_decide diverged trials"
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
                "n": difference.n,
                **interval(difference),
                **_test_cells(compared),
                "margin": compared.margin,
                "p_equivalence": compared.p_equivalence,
                "verdict": str(compared.verdict),
                "seeds_to_decide": compared.seeds_to_decide,
                "diverged": diverged,
                "trials": trials,
            }


def _test_cells(compared: Comparison) -> Row:
    detectable = compared.detectable
    return {
        "test": str(compared.test),
        "degrees": compared.degrees,
        "p": compared.p,
        "p_paired": compared.p_paired,
        "p_adjusted": compared.p_adjusted,
        "level": compared.corrected.level,
        "simultaneous_low": compared.corrected.low,
        "simultaneous_high": compared.corrected.high,
        "smallest_effect": compared.smallest_effect,
        "detectable_low": None if detectable is None else detectable.low,
        "detectable_high": None if detectable is None else detectable.high,
    }


def effects_grid(results: Results) -> Iterator[Grid]:
    """Yield the verdicts on the headline metrics; none without seeds that compare."""
    cells = [
        [arm.name, metric.title, *_cells(results, arm.name, metric)]
        for metric in results.headlines
        for arm in results.arms
        if arm.name != BASELINE and results.effect(arm.name, metric).difference.n
    ]
    if not cells:
        return
    columns = [Column("arm", numeric=False), Column("metric", numeric=False), Column("verdict", numeric=False)]
    columns += [Column("simultaneous 95%"), Column("adjusted", "p")]
    columns += [Column(title, "p", further=True) for title in ("uncorrected", "paired t")]
    columns += [Column(title, further=True) for title in ("min. detectable Δ", "seeds needed")]
    yield grid("effects", "Tests against the baseline", columns, cells)


def _cells(results: Results, arm: str, metric: Metric) -> Iterator[str]:
    compared, decimals = results.comparison(arm, metric), results.decimals(metric)
    yield verdict_text(compared)
    yield _simultaneous(compared, decimals)
    yield NOTHING if compared.gate_shut else p_text(compared.p_adjusted)
    yield from (p_text(p) for p in (compared.p, compared.p_paired))
    yield _detectable(compared, decimals)
    if compared.verdict is not Verdict.UNDECIDED or compared.p is None or compared.gate_shut:
        yield NOTHING
    else:
        yield f"> {MOST_SEEDS}" if compared.seeds_to_decide is None else str(compared.seeds_to_decide)


def _simultaneous(compared: Comparison, decimals: int) -> str:
    if compared.gate_shut:
        return NOTHING
    corrected = compared.corrected
    return UNKNOWN if corrected.p is None else simultaneous_text(corrected.low, corrected.high, decimals)


def _detectable(compared: Comparison, decimals: int) -> str:
    detectable = compared.detectable
    if detectable is None:
        return NOTHING if compared.gate_shut else UNKNOWN
    value, low, high = (fixed(each, decimals) for each in (detectable.value, detectable.low, detectable.high))
    return f"{value} ({low} to {high})"


def verdict_text(compared: Comparison) -> str:
    """Return the verdict in words, with the margin of an equivalence."""
    if compared.verdict is Verdict.NO_DIFFERENCE:
        return f"no difference larger than {compared.margin:g}"
    return str(compared.verdict)


def verdict_notes(results: Results) -> Iterator[str]:
    """Yield the definition of the verdicts and the tests of the correction, of results with a headline metric."""
    first, *others = (metric.title for metric in results.headlines)
    yield (
        f"Verdicts: helps or hurts if p of {TEST_NAMES[results.test]}, adjusted for all tests on "
        f"{' and '.join((first, *others))}, is at most 0.05; no difference larger than m "
        "if two one-sided tests at 5% (the 90% interval within ±m), Holm-corrected over the arms, show it; undecided "
        "otherwise. Further metrics are a separate family under Holm's correction."
    )
    if others:
        yield (
            f"Gate: each arm's {first} is tested at 5% over the number of arms; a significant one passes its level "
            f"on to the arm's {' and '.join(others)}, which is not tested otherwise ({NOTHING})."
        )
    if any(history.stopped_by is not None for history in results.snapshot.histories):
        yield (
            "Hurdles chose the trials that are tested by losses of the same runs. No correction covers this choice: "
            "p, intervals and verdicts are those of arms named beforehand, and optimistic here."
        )


def _test_notes(results: Results) -> Iterator[str]:
    yield (
        "Simultaneous 95%: together the intervals hold all true differences with 95% probability; 0 is outside if "
        "and only if p is at most 0.05. The interval of a significant cell ends at 0, which it does not contain."
    )
    yield (
        "Minimum detectable Δ: the true difference that the test detects with 80% power at the level that decides, "
        "with the 95% interval that follows from the error of its standard deviation. Seeds needed: for 80% power at "
        "the observed Δ and variances."
    )
    if any(results.examples(metric.name) for metric in results.metrics):
        yield (
            "Where examples are sampled (see the conditions): the deciding test over seeds or the two-way analysis "
            "of variance over seeds and examples, whichever has the wider 95% interval."
        )
    yield from _pairing_note(results)
    if results.looks.counts:
        counts = ", ".join(map(str, results.looks.counts))
        yield (
            f"Group-sequential design with looks at {counts} seeds: undecided arms got more seeds, and each look "
            "spends a share of α. Intervals are therefore wider than those of a single look, and valid at any look."
        )


def _pairing_note(results: Results) -> Iterator[str]:
    found = {metric.title: gain_of_pairing(results, metric) for metric in results.headlines}
    texts = [
        f"{gain.ratio:.2f} [{gain.low:.2f}, {gain.high:.2f}] on {title}" for title, gain in found.items() if gain
    ]
    if texts:
        declared = "declared" if results.test is MeanTest.PAIRED else "not declared"
        yield (
            "Gain of pairing, measured: paired differences have "
            f"{', '.join(texts)} times the variance of unpaired ones; `comparison: paired` is {declared}."
        )


def gain_of_pairing(results: Results, metric: Metric) -> PairingGain | None:
    """Return what pairing by seed gains on a metric; None without two arms or seeds."""
    samples = [dict(results.values.get(arm.name, {}).get(metric.name, {})) for arm in results.arms]
    samples = [sample for sample in samples if sample]
    return pairing_gain(array_of(samples)) if len(samples) > 1 else None


def _content(evidence: Evidence) -> Content:
    results = evidence.results
    grids = (with_notes(shown, verdict_notes(results), _test_notes(results)) for shown in effects_grid(results))
    return Content((effects_table(results),), tuple(grids))


SECTION = Section("effects", _content)
