"""Costs of pruned arms: those of what remains, with the updates of the scales and of the recovery."""

from dataclasses import replace

import pytest

from foundation.schema import canonical
from reports.report import build
from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.cost import MATMUL
from search_space.objective.masked_language_model import MaskedLanguageModel
from search_space.pruning import Pruning
from search_space.recipe import Recipe
from tests.factories.reports import TOKENS, Trial, arm, document, snapshot

WHOLE = Architecture(depth=2, width=32, embedding_width=32, heads=2, feed_forward_width=64, vocabulary_size=100)
LEFT = [WHOLE.model_copy(update={"feed_forward_width": width}) for width in (16, 32)]
PRUNING = Pruning(parameters_share=0.9, scale_share=0.01, recovery_share=0.1)
RECIPE = Recipe(sequence_length=16, batch_sequences=4, pruning=PRUNING)
CANDIDATE = Candidate(architecture=WHOLE, objective=MaskedLanguageModel(), recipe=RECIPE)


def test_the_updates_of_scales_are_of_the_whole_model_and_those_of_the_recovery_of_what_remains() -> None:
    steps = RECIPE.steps(TOKENS)
    forward = [CANDIDATE.objective.forward_flops(each, None, 16) for each in (WHOLE, LEFT[0])]
    updates = PRUNING.scale_updates(steps), PRUNING.recovery_updates(steps)
    expected = MATMUL.training_passes * 4 * sum(count * cost for count, cost in zip(updates, forward, strict=True))
    assert CANDIDATE.pruning_flops(TOKENS, LEFT[0]) == expected
    without = CANDIDATE.model_copy(update={"recipe": RECIPE.model_copy(update={"pruning": None})})
    assert without.pruning_flops(TOKENS, WHOLE) == 0


@pytest.fixture
def tables() -> dict[str, list[dict[str, object]]]:
    """Return the rows of a report on a baseline and an arm that was pruned in both of its trials."""
    trials = [Trial("baseline", seed).pretrained(5.0 + seed / 10) for seed in (1, 2)]
    for seed, left in zip((1, 2), LEFT, strict=True):
        curve = [[TOKENS // 2, 5.5], [TOKENS, 5.0 + seed / 10]]
        result = {"tokens": TOKENS, "held_out_loss": 5.0 + seed / 10, "held_out_curve": curve, "train_curve": []}
        found = {**result, "architecture": canonical(left), "parameters": left.parameters}
        trials.append(Trial("pruned", seed).record("pretrain", f"pretrain@{TOKENS}", found))
    view = snapshot(trials, {"baseline": {}, "pruned": {}}, resolved=document(seeds=(1, 2)))
    baseline, pruned = view.arms
    whole = Candidate(architecture=WHOLE, objective=MaskedLanguageModel())
    view = replace(view, arms=(replace(baseline, candidate=whole), replace(pruned, candidate=CANDIDATE)))
    return {table.name: [dict(row) for row in table.rows] for table in build(view).tables}


def test_a_pruned_arm_has_the_costs_of_what_remains(tables: dict[str, list[dict[str, object]]]) -> None:
    by_seed = {row["seed"]: row for row in tables["pruned_architectures"]}
    before = CANDIDATE.train_flops(TOKENS, Architecture(depth=4))
    for seed, left in zip((1, 2), LEFT, strict=True):
        assert by_seed[seed]["parameters"] == left.parameters
        assert by_seed[seed]["forward_flops"] == left.forward_flops(16)
        assert by_seed[seed]["train_flops"] == before + CANDIDATE.pruning_flops(TOKENS, left)
    rows = {row["arm"]: row for row in tables["results"]}
    assert rows["pruned"]["parameters"] == sum(left.parameters for left in LEFT) / 2
    assert rows["pruned"]["train_flops"] == round(sum(int(str(row["train_flops"])) for row in by_seed.values()) / 2)
    assert rows["baseline"]["parameters"] == arm("baseline", 0, {}).parameters
