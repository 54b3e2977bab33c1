"""Tests of pairs of trained models on the same examples, beside the arms' difference over seeds and examples."""

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
    ExampleTest,
    compared_on_examples,
)
from reports.statistics.metrics import Metric
from reports.table import Row, Table, interval, table

COLUMNS = (
    "metric arm test examples sampled_models pairs better worse pairs_better pairs_worse p_models "
    "sampled_arms n delta low high bootstrap_low bootstrap_high"
)
MODELS, ARMS = "these models", "arms"


def example_tests_table(tests: Sequence[ExampleTest]) -> Table:
    """Return one row per metric and arm, with the unit of sampling of both readings."""
    return table("example_tests", COLUMNS, map(_row, tests))


def _row(found: ExampleTest) -> Row:
    arms = found.of_arms
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
        "bootstrap_low": None if arms is None else arms.bootstrap.low,
        "bootstrap_high": None if arms is None else arms.bootstrap.high,
    }


def unit_of(found: ExampleTest) -> str:
    """Return what is sampled of the examples."""
    return "held-out sequences" if found.metric == HELD_OUT_LOSS else "dev examples"


def example_tests_grid(tests: Sequence[ExampleTest]) -> Grid:
    """Return the tests for display, beside the differences of the arms."""
    columns = [Column("metric", numeric=False), Column("arm", numeric=False)]
    columns += [Column(title, MODELS) for title in ("examples better : worse", "pairs better : worse", "Holm's p")]
    columns += [Column("sampled", MODELS, numeric=False), Column("Δ [95%] (n)", ARMS)]
    columns += [Column("multi-bootstrap 95%", ARMS), Column("sampled", ARMS, numeric=False)]
    decimals = {metric: _decimals(tests, metric) for metric in {found.metric for found in tests}}
    rows = ([Metric(found.metric).title, found.arm, *_cells(found, decimals[found.metric])] for found in tests)
    return grid("example_tests", "Tests on the same examples", columns, rows)


def _decimals(tests: Sequence[ExampleTest], metric: str) -> int:
    found = [each.of_arms.difference for each in tests if each.metric == metric and each.of_arms]
    widths = [each.high - each.low for each in found if each.low is not None and each.high is not None]
    return decimals_for([width / 2 for width in widths], fallback=1)


def _cells(found: ExampleTest, decimals: int) -> Iterator[str | Cell]:
    yield f"{found.better} : {found.worse}"
    better, worse = (found.significant_pairs(better=side) for side in (True, False))
    yield f"{better} : {worse} of {len(found.pairs)}"
    yield p_text(found.p_models)
    yield f"{found.examples} {unit_of(found)}"
    if found.of_arms is None:
        yield from (NOTHING, NOTHING, NOTHING)
        return
    bootstrap = found.of_arms.bootstrap
    yield interval_cell(found.of_arms.difference, decimals)
    yield f"{signed(bootstrap.low, decimals)} to {signed(bootstrap.high, decimals)}"
    yield f"seeds x {found.examples} {unit_of(found)}"


def example_tests_notes(tests: Sequence[ExampleTest]) -> Iterator[str]:
    """Yield the family of tests, what it generalises to, and what is counted."""
    pairs = [pair for found in tests for pair in found.pairs if pair.p is not None]
    names = {MCNEMAR: "McNemar's exact test", SIGNED_RANKS: "Wilcoxon's signed ranks"}
    used = " and ".join(text for name, text in names.items() if any(found.test == name for found in tests))
    yield (
        f"Family \"{MODELS}\": {used} of the arm's and the baseline's model at the same pretraining and fine-tuning "
        f"seed, {len(pairs)} tests under Holm's correction at 5%. Of these models on these examples, not of the "
        "architecture: a test of one checkpoint does not generalise over pretraining seeds. The family does not "
        "enter the verdicts against the baseline, nor do these enter it."
    )
    yield (
        "Examples better : worse: examples on which the arm's model is better, or the baseline's, summed over the "
        "pairs. Pairs better : worse: pairs that differ significantly. Holm's p: the smallest of the row's pairs."
    )
    if any(found.of_arms for found in tests):
        yield (
            "Δ of the arms: the difference that verdicts are by, with its own interval over seeds and examples. The "
            f"multi-bootstrap ({RESAMPLES} resamples of both) decides nothing: it takes too little of few seeds and "
            "counts the interaction of seeds and examples three times."
        )


def _content(evidence: Evidence) -> Content:
    tests = compared_on_examples(evidence.results)
    if not tests:
        return Content()
    shown = with_notes(example_tests_grid(tests), example_tests_notes(tests))
    return Content(with_rows(example_tests_table(tests)), (shown,))


SECTION = Section("example_tests", _content)
