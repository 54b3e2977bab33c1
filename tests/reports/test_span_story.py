"""The story of SpanBERT's spans has the means and differences of its report."""

from collections.abc import Iterator
from statistics import fmean

from configuration.metrics import HELD_OUT_LOSS
from tests.reports.story_values import difference_in, mean_and_deviation, missing_from, span, table, values

NAME, STORY = "spanbert_table6-laptop", "Which spans to mask"
ARMS = {"baseline": "`baseline`, word pieces", "whole_words": "`whole_words`", "geometric_spans": "`geometric_spans`"}
DECIMALS = {"score": 2, "blimp": 1, "docs_answer": 2, "squad_v1_1": 1}


def rows() -> Iterator[str]:
    """Yield the rows of the story's table."""
    for arm, label in ARMS.items():
        cells = [mean_and_deviation(values(NAME, arm, metric), decimals) for metric, decimals in DECIMALS.items()]
        yield f"| {label} | {' | '.join(cells)} |"


def test_the_table_has_the_means_of_the_report() -> None:
    assert missing_from(STORY, rows()) == []


def test_the_differences_are_those_of_the_tests_against_the_baseline() -> None:
    found = {(row["arm"], row["metric"]): row for row in table(NAME, "effects")}

    def shown(arm: str, metric: str, decimals: int) -> str:
        row = found[arm, metric]
        return difference_in(row, decimals, "" if round(float(row["delta"]), decimals) else " points")

    arms = ("geometric_spans", "whole_words")
    expected = [shown(arm, metric, decimals) for arm in arms for metric, decimals in (("score", 2), ("blimp", 1))]
    assert missing_from(STORY, expected) == []


def test_one_seed_of_whole_words_makes_its_spread() -> None:
    lowest, *others = sorted(values(NAME, "whole_words", "docs_answer"))
    assert missing_from(STORY, [f"has {lowest:.1f} on `docs_answer`", span(others, 1)]) == []


def test_the_losses_are_those_of_the_report() -> None:
    losses = {arm: fmean(values(NAME, arm, HELD_OUT_LOSS)) for arm in ARMS}
    words, spans, pieces = (losses[arm] for arm in ("whole_words", "geometric_spans", "baseline"))
    fragments = [f"has {words:.2f} nats there", f"geometric spans {spans:.2f}, against {pieces:.2f}"]
    assert missing_from(STORY, fragments) == []
