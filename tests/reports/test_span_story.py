"""The story of SpanBERT's spans has the means and differences of its report."""

from collections.abc import Iterator
from statistics import fmean, stdev

from configuration.metrics import HELD_OUT_LOSS
from tests.reports.story_values import missing_from, values
from tests.reports.test_stories_directions import table

NAME, STORY = "spanbert_table6-laptop", "Which spans to mask"
ARMS = {"baseline": "`baseline`, word pieces", "whole_words": "`whole_words`", "geometric_spans": "`geometric_spans`"}
DECIMALS = {"score": 2, "blimp": 1, "docs_answer": 2, "squad_v1_1": 1}


def rows() -> Iterator[str]:
    """Yield the rows of the story's table."""
    for arm, label in ARMS.items():
        found = ((values(NAME, arm, metric), decimals) for metric, decimals in DECIMALS.items())
        cells = [f"{fmean(each):.{decimals}f} ± {stdev(each):.{decimals}f}" for each, decimals in found]
        yield f"| {label} | {' | '.join(cells)} |"


def test_the_table_has_the_means_of_the_report() -> None:
    assert missing_from(STORY, rows()) == []


def test_the_differences_are_those_of_the_tests_against_the_baseline() -> None:
    found = {(row["arm"], row["metric"]): row for row in table(NAME, "effects")}

    def shown(arm: str, metric: str, decimals: int) -> str:
        delta, low, high = (float(found[arm, metric][column]) for column in ("delta", "low", "high"))
        middle = f"{delta:+.{decimals}f}" if round(delta, decimals) else f"{0:.{decimals}f}"
        unit = " points" if not round(delta, decimals) else ""
        return f"{middle}{unit} [{low:+.{decimals}f}, {high:+.{decimals}f}]".replace("-", "−")

    expected = [shown(arm, "score", 2) for arm in ("geometric_spans", "whole_words")]
    assert (
        missing_from(STORY, [*expected, *(shown(arm, "blimp", 1) for arm in ("whole_words", "geometric_spans"))])
        == []
    )


def test_one_seed_of_whole_words_makes_its_spread() -> None:
    lowest, *others = sorted(values(NAME, "whole_words", "docs_answer"))
    assert (
        missing_from(STORY, [f"has {lowest:.1f} on `docs_answer`", f"{min(others):.1f} to {max(others):.1f}"]) == []
    )


def test_the_losses_are_those_of_the_report() -> None:
    losses = {arm: fmean(values(NAME, arm, HELD_OUT_LOSS)) for arm in ARMS}
    words, spans, pieces = (losses[arm] for arm in ("whole_words", "geometric_spans", "baseline"))
    fragments = [f"has {words:.2f} nats there", f"geometric spans {spans:.2f}, against {pieces:.2f}"]
    assert missing_from(STORY, fragments) == []
