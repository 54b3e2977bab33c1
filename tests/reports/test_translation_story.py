"""The story of the Transformer's parts has the numbers of its report."""

from collections.abc import Iterator
from statistics import fmean

from ledger.csv_export import read_export
from tests.reports.story_values import (
    claims_shown,
    csv_rows,
    difference_in,
    mean_and_deviation,
    missing_from,
    table,
    values,
)
from tests.reports.test_stories import PUBLISHED
from tests.reports.test_stories_directions import WORDS

NAME, STORY = "transformer_table3-laptop", "The Transformer's parts"
BLEU, TEST, PERPLEXITY = "multi30k_en_de", "multi30k_en_de:bleu test", "perplexity of targets"


def rows() -> Iterator[str]:
    """Yield the numbers of each row of the story's table, after the arm's name."""
    effects = {row["arm"]: row for row in table(NAME, "effects") if row["metric"] == BLEU}
    for arm in read_export(PUBLISHED / NAME).arms():
        dev, test = (
            mean_and_deviation(values(NAME, arm.name, metric), decimals)
            for metric, decimals in ((BLEU, 2), (TEST, 1))
        )
        effect = effects.get(arm.name)
        tested = "– | –" if effect is None else f"{difference_in(effect, 2)} | {decision(effect)}"
        yield f"| {arm.parameters / 1e6:.2f}M | {dev} | {test} | {tested} |"


def decision(effect: dict[str, str]) -> str:
    return f"{WORDS[effect['verdict']]}: p = {float(effect['p_adjusted']):.2f}"


def test_the_table_has_the_numbers_of_the_report() -> None:
    assert missing_from(STORY, rows()) == []


def test_the_verdicts_on_the_paper_are_those_of_the_claims() -> None:
    assert missing_from(STORY, claims_shown(NAME)) == []


def perplexities() -> dict[str, float]:
    """Return each arm's mean perplexity of the targets."""
    found: dict[str, list[float]] = {}
    for row in table(NAME, "generated_texts"):
        if row["metric"] == PERPLEXITY:
            found.setdefault(row["arm"], []).append(float(row["value"]))
    return {arm: fmean(values_of_arm) for arm, values_of_arm in found.items()}


def test_the_arms_with_the_highest_means_have_the_lowest_perplexity() -> None:
    found = perplexities()
    bleu = {arm: fmean(values(NAME, arm, BLEU)) for arm in found}
    easiest = set(sorted(found, key=found.__getitem__)[:2])
    assert easiest == set(sorted(bleu, key=bleu.__getitem__)[-2:]) == {"no_dropout", "depth_low"}
    assert missing_from(STORY, [f"{found[arm]:.1f}" for arm in (*easiest, "baseline", "depth_high")]) == []


def test_the_texts_of_dev_are_counted() -> None:
    (row,) = [row for row in csv_rows(NAME, "tables", "reference.csv") if row["metric"] == "bleu"]
    expected = f"{int(row['train_examples']):,} pairs", f"{row['dev_examples']} dev texts"
    assert missing_from(STORY, expected) == []
