"""The story of Table 3 by replaced token detection has the numbers of its report."""

from collections.abc import Iterator
from statistics import fmean

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

NAME, STORY = "table3-laptop_detection", "Table 3 by replaced token detection"
DECIMALS = {"held_out_loss": 4, "score": 2, "word_order": 1}
GUESSING = 0.35
"""Nats, the loss of a model that has not begun to tell replaced tokens."""


def rows() -> Iterator[str]:
    """Yield the numbers of each row of the story's table, after the arm's name."""
    effects = {row["arm"]: row for row in table(NAME, "effects") if row["metric"] == "score"}
    for arm in read_export(PUBLISHED / NAME).arms():
        shown = [mean_and_deviation(values(NAME, arm.name, metric), places) for metric, places in DECIMALS.items()]
        effect = effects.get(arm.name)
        tested = "– | –" if effect is None else f"{difference_in(effect, 2)} | {WORDS[effect['verdict']]}"
        yield f"| {' | '.join(shown)} | {tested}"


def test_the_table_has_the_numbers_of_the_report() -> None:
    assert missing_from(STORY, rows()) == []


def test_the_verdicts_on_the_paper_are_those_of_the_claims() -> None:
    assert missing_from(STORY, claims_shown(NAME, DECIMALS)) == []


def test_what_has_not_begun_to_learn_is_told_with_its_level() -> None:
    base, small = values(NAME, "electra_base"), values(NAME, "baseline")
    assert min(base) > GUESSING - 0.01
    expected = [f"ELECTRA-Base ends at {span(base, 3)} nats", f"ELECTRA-Small at {span(small, 3)}"]
    assert missing_from(STORY, expected) == []


def test_the_tasks_references_are_told() -> None:
    references = {row["task"]: row for row in table(NAME, "reference") if row["metric"] in ("f1", "accuracy")}
    orders = fmean(fmean(values(NAME, arm.name, "word_order")) for arm in read_export(PUBLISHED / NAME).arms())
    ngram = float(references["word_order"]["ngram"])
    mean, deviation = (float(references["docs_answer"][column]) for column in ("untrained", "untrained_sd"))
    expected = [
        f"the mean over all arms, {orders:.1f}, does not exceed that of n-grams, {ngram:.1f}",
        f"(untrained encoders {mean:.1f} ± {deviation:.1f}, n = 2)",
    ]
    assert missing_from(STORY, expected) == []


def test_the_orderings_without_correction_are_counted() -> None:
    claims = table(NAME, "claims")
    supported = [row["metric"] for row in claims if row["pointwise"] == "supported"]
    expected = f"Of the {len(claims)} intervals without correction {len(supported)} lie on the paper's side"
    assert supported.count("score") == 4
    assert len(claims) == 14
    assert missing_from(STORY, [expected, "four of the seven on the score"]) == []
