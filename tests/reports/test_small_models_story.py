"""The story of ConvBERT-Small against ELECTRA-Small has the numbers of its report."""

from ledger.csv_export import read_export
from tests.reports.story_values import (
    claims_shown,
    difference_in,
    mean_and_deviation,
    missing_from,
    span,
    table,
    values,
)
from tests.reports.test_stories import PUBLISHED
from tests.reports.test_stories_directions import WORDS

NAME, STORY = "table3_small-laptop_detection", "ConvBERT-Small against ELECTRA-Small"
DECIMALS = {"held_out_loss": 4, "score": 2, "word_order": 1}


def test_the_table_has_the_numbers_of_the_report() -> None:
    (effect,) = (row for row in table(NAME, "effects") if row["metric"] == "score")
    for arm in read_export(PUBLISHED / NAME).arms():
        shown = [mean_and_deviation(values(NAME, arm.name, metric), places) for metric, places in DECIMALS.items()]
        tested = f"{difference_in(effect, 2)} | {WORDS[effect['verdict']]}" if arm.name == effect["arm"] else "– | –"
        assert missing_from(STORY, [f"| {' | '.join(shown)} | {tested}"]) == []


def test_the_verdicts_on_the_paper_are_those_of_the_claims() -> None:
    assert missing_from(STORY, claims_shown(NAME, DECIMALS)) == []


def test_where_the_losses_end_is_told() -> None:
    ends = [span(values(NAME, arm), 3) for arm in ("baseline", "convbert_small")]
    assert missing_from(STORY, ["{} and {} nats".format(*ends)]) == []


def test_the_gap_since_the_start_is_told() -> None:
    (row,) = table(NAME, "aligned_gaps")
    gap = {"delta": row["delta_rate"], "low": row["low_rate"], "high": row["high_rate"]}
    assert missing_from(STORY, [f"since each run left its plateau it is {difference_in(gap, 4)}"]) == []
