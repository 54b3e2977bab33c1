"""The story of what an encoder-decoder undoes has the numbers of its report."""

from collections.abc import Iterator

from ledger.csv_export import read_export
from ledger.stage_results import PretrainResult, finite_points
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

NAME, STORY = "bart_table1-laptop", "The objectives of BART's Table 1"
WHOLE_TEXT = (
    *("baseline", "token_masking", "token_deletion", "rotation", "sentence_permutation"),
    "infilling_and_permutation",
)
"""The arms whose target is the whole text."""
PLATEAU = ("masked_language_model", "permuted_language_model", "multitask_masked_language_model")
LANGUAGE_MODEL = 3.5
"""Nats, below the end of every language model, and above that of every model that reads its source."""
METRICS = ("docs_answer", "multi30k_de_en", "score")


def rows() -> Iterator[str]:
    """Yield the numbers of each row of the story's table, after the arm's name."""
    effects = {row["arm"]: row for row in table(NAME, "effects") if row["metric"] == "score"}
    for arm in read_export(PUBLISHED / NAME).arms():
        shown = [mean_and_deviation(values(NAME, arm.name, metric), 1) for metric in METRICS]
        effect = effects.get(arm.name)
        tested = "– | –" if effect is None else f"{difference_in(effect, 1)} | {decision(effect)}"
        yield f"| {' | '.join(shown)} | {tested} |"


def decision(effect: dict[str, str]) -> str:
    return f"{WORDS[effect['verdict']]}: p = {float(effect['p_adjusted']):.3f}"


def test_the_table_has_the_numbers_of_the_report() -> None:
    assert missing_from(STORY, rows()) == []


def test_the_verdicts_on_the_paper_are_those_of_the_claims() -> None:
    assert missing_from(STORY, claims_shown(NAME, {"score": 1})) == []


def ends() -> dict[str, dict[int, float]]:
    """Return the held-out loss at the end of pretraining by arm and seed."""
    found: dict[str, dict[int, float]] = {}
    for record in read_export(PUBLISHED / NAME).records():
        if isinstance(record.result, PretrainResult):
            arm, _, seed = str(record.trial).rpartition("/")
            found.setdefault(arm, {})[int(seed)] = [*finite_points(record.result.held_out_curve)][-1][1]
    return found


def test_models_that_read_the_source_end_below_the_language_model_and_translate() -> None:
    found, models = ends(), dict[bool, list[tuple[float, float]]]({True: [], False: []})
    for arm in WHOLE_TEXT:
        bleu = values(NAME, arm, "multi30k_de_en")
        for seed, loss in found[arm].items():
            models[loss < LANGUAGE_MODEL].append((loss, bleu[seed - 1]))
        reading = sum(loss < LANGUAGE_MODEL for loss in found[arm].values())
        answered = mean_and_deviation(values(NAME, arm, "docs_answer"), 1)
        assert missing_from(STORY, [f"| {reading} of 3 | {answered} |"]) == []
    (read, translated), (not_read, not_translated) = (zip(*models[reads], strict=True) for reads in (True, False))
    empty, alone = [*found["language_model"].values()], values(NAME, "language_model", "multi30k_de_en")
    expected = [
        f"18 models {len(read)} read the source: they end at {span([*read])} nats",
        f"translate with a BLEU of {span([*translated], 1)}",
        f"end at {span([*not_read])} nats, where the language model ends, whose source is empty ({span(empty)})",
        f"translate with {span([*not_translated], 1)} (the language model: {span(alone, 1)})",
    ]
    assert missing_from(STORY, expected) == []
    assert len(not_read) == 6


def test_the_arms_on_the_plateau_are_told_with_its_level() -> None:
    found = [loss for arm in PLATEAU for loss in ends()[arm].values()]
    assert len(found) == 9
    assert missing_from(STORY, [f"stay on the plateau at {span(found)} nats"]) == []
