"""Tests on the same examples: pairs of trained models, and arms over seeds and examples, a family each."""

from collections.abc import Iterator, Sequence

from analysis.difference import Difference
from configuration.metrics import HELD_OUT_LOSS
from reports.grid import Cell, Column, Grid, grid, with_notes
from reports.number_format import NOTHING, decimals_for, p_text, signed
from reports.section import Content, Section, with_rows
from reports.sections.difference_cells import interval_cell
from reports.statistics.evidence import Evidence
from reports.statistics.example_tests import (
    MCNEMAR,
    RESAMPLES,
    SIGNED_RANKS,
    ArmTest,
    ExampleTest,
    compared_on_examples,
)
from reports.statistics.metrics import Metric
from reports.table import Row, Table, interval, table

COLUMNS = (
    "metric arm test examples sampled_models pairs better worse pairs_better pairs_worse p_models "
    "sampled_arms n delta low high degrees p p_holm bootstrap_low bootstrap_high"
)
MODELS, ARMS = "these models", "arms"


def example_tests_table(tests: Sequence[ExampleTest]) -> Table:
    """Return one row per metric and arm, with the unit of sampling of both readings."""
    return table("example_tests", COLUMNS, map(_row, tests))


def _row(found: ExampleTest) -> Row:
    arms = found.over_seeds
    return {
        "metric": found.metric,
        "arm": found.arm,
        "test": found.test,
        "examples": found.examples,
        "sampled_models": unit_of(found),
        "pairs": len(found.pairs),
        "better": found.better,
        "worse": found.worse,
        "pairs_better": found.significant_pairs(better=True),
        "pairs_worse": found.significant_pairs(better=False),
        "p_models": found.p_models,
        "sampled_arms": None if arms is None else f"seeds x {unit_of(found)}",
        "n": 0 if arms is None else arms.difference.n,
        **interval(Difference() if arms is None else arms.difference),
        "degrees": None if arms is None else arms.degrees,
        "p": None if arms is None else arms.p,
        "p_holm": None if arms is None else arms.p_holm,
        "bootstrap_low": None if arms is None else arms.bootstrap.low,
        "bootstrap_high": None if arms is None else arms.bootstrap.high,
    }


def unit_of(found: ExampleTest) -> str:
    """Return what is sampled of the examples."""
    return "held-out sequences" if found.metric == HELD_OUT_LOSS else "dev examples"


def example_tests_grid(tests: Sequence[ExampleTest]) -> Grid:
    """Return the tests for display, the two readings in groups of their own."""
    decimals = decimals_for([_half_width(found.over_seeds) for found in tests], fallback=1)
    columns = [Column("metric", numeric=False), Column("arm", numeric=False)]
    columns += [Column(title, MODELS) for title in ("examples better : worse", "pairs better : worse", "Holm's p")]
    columns += [Column("sampled", MODELS, numeric=False), Column("Δ [95%] (n)", ARMS), Column("Holm's p", ARMS)]
    columns += [Column("multi-bootstrap 95%", ARMS), Column("sampled", ARMS, numeric=False)]
    rows = ([Metric(found.metric).title, found.arm, *_cells(found, decimals)] for found in tests)
    return grid("example_tests", "Tests on the same examples", columns, rows)


def _half_width(found: ArmTest | None) -> float | None:
    low, high = (None, None) if found is None else (found.difference.low, found.difference.high)
    return None if low is None or high is None else (high - low) / 2


def _cells(found: ExampleTest, decimals: int) -> Iterator[str | Cell]:
    yield f"{found.better} : {found.worse}"
    better, worse = (found.significant_pairs(better=side) for side in (True, False))
    yield f"{better} : {worse} of {len(found.pairs)}"
    yield p_text(found.p_models)
    yield f"{found.examples} {unit_of(found)}"
    if found.over_seeds is None:
        yield from (NOTHING, NOTHING, NOTHING, NOTHING)
        return
    bootstrap = found.over_seeds.bootstrap
    yield interval_cell(found.over_seeds.difference, decimals)
    yield p_text(found.over_seeds.p_holm)
    yield f"{signed(bootstrap.low, decimals)} to {signed(bootstrap.high, decimals)}"
    yield f"seeds x {found.examples} {unit_of(found)}"


def example_tests_notes(tests: Sequence[ExampleTest]) -> Iterator[str]:
    """Yield the two families, what each generalises to, and what is counted."""
    pairs = [pair for found in tests for pair in found.pairs if pair.p is not None]
    arms = [found for found in tests if found.over_seeds is not None and found.over_seeds.p is not None]
    names = {MCNEMAR: "McNemar's exact test", SIGNED_RANKS: "Wilcoxon's signed ranks"}
    used = " and ".join(text for name, text in names.items() if any(found.test == name for found in tests))
    yield (
        f"Family \"{MODELS}\": {used} of the arm's and the baseline's model at the same pretraining and fine-tuning "
        f"seed, {len(pairs)} tests under Holm's correction at 5%. Of these models on these examples, not of the "
        "architecture: a test of one checkpoint does not generalise over pretraining seeds."
    )
    yield (
        "Examples better : worse: examples on which the arm's model is better, or the baseline's, summed over the "
        "pairs. Pairs better : worse: pairs that differ significantly. Holm's p: the smallest of the row's pairs."
    )
    if arms:
        yield (
            f'Family "{ARMS}": the difference in points over seeds and examples, both of which are samples, '
            f"{len(arms)} tests under Holm's correction at 5%; the wider of the two-way analysis of variance and of "
            f"the test over seeds. The multi-bootstrap ({RESAMPLES} resamples of seeds and examples) decides "
            "nothing: its intervals are too narrow at few seeds."
        )
    yield "Neither family enters the verdicts against the baseline, nor do these verdicts enter them."


def _content(evidence: Evidence) -> Content:
    tests = compared_on_examples(evidence.results)
    if not tests:
        return Content()
    shown = with_notes(example_tests_grid(tests), example_tests_notes(tests))
    return Content(with_rows(example_tests_table(tests)), (shown,))


SECTION = Section("example_tests", _content)
