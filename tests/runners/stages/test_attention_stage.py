"""The attention stage: near and far pairs, maps in cells, and the declaration that every arm has."""

import json
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from runners.dag import shared_stages, trial_stages
from runners.stage_labels import all_labels
from runners.stages.attention import near_and_far_masks
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.measurements.attention import uniform_concentration
from steeplechase.configuration.validation.experiment import violations_of
from steeplechase.foundation.canonical import canonical

LENGTHS = st.integers(3, 80)


def experiment(**parts: Any) -> Experiment:
    document = {
        "experiment": "attention",
        "question": "Is attention local?",
        "baseline": {"recipe": {"sequence_length": 32}},
        "design": {"kind": "list", "arms": {"long": {"recipe.sequence_length": 64}, "short": {"positions": 40}}},
        "pretraining": {"tokens": 1_000_000, "seeds": [1]},
        **parts,
    }
    return Experiment.model_validate_json(json.dumps(document))


MEASURED = {"measure": {"attention_diagonal": {"within": 3, "sequences": 8}}}


@given(LENGTHS, st.integers(1, 9))
def test_every_pair_is_near_or_far_and_special_tokens_are_excluded(length: int, within: int) -> None:
    near, far, inner_near, inner_far = near_and_far_masks(length, within)
    assert torch.equal(near, ~far)
    for query in range(length):
        for key in range(length):
            assert bool(near[query, key]) == (abs(query - key) <= within)
    assert int((inner_near | inner_far).sum()) == (length - 2) ** 2
    assert not (inner_near | inner_far)[[0, -1]].any()
    uniform = uniform_concentration(length, within)
    assert uniform == (None if not far.any() else pytest.approx(int(near.sum()) / int(far.sum())))


def test_the_measurement_changes_no_other_key() -> None:
    plain, measured = experiment(), experiment(**MEASURED)
    before, after = (trial_stages(one, shared_stages(one), one.baseline, 1) for one in (plain, measured))
    assert {label: stage.key for label, stage in before.items()} == {
        label: stage.key for label, stage in after.items() if label != "attention"
    }
    assert all_labels(measured) == (*all_labels(plain), "attention")
    assert "measure" not in canonical(plain)


def messages(**parts: Any) -> list[str]:
    path = ("measure", "attention_diagonal")
    return [
        violation.message for violation in violations_of(experiment(**MEASURED, **parts)) if violation.path == path
    ]


def test_too_few_positions_and_a_search_are_violations() -> None:
    long = {"baseline": {"recipe": {"sequence_length": 32}}}
    short = {"short": {"positions": 16, "recipe.sequence_length": 16}}
    (message,) = messages(**long, design={"kind": "list", "arms": short})
    assert message == "short has 16 positions; C is compared at the baseline's 32 tokens"
    (message,) = messages(design={"kind": "search", "space": {"heads": [2, 4]}, "max_candidates": 2})
    assert "measure selected ones in a list design" in message
    assert not messages()
