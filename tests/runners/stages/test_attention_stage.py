"""Measuring attention: which pairs are near, what a map becomes in cells, and who is measured on what."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from configuration.experiment import Experiment
from configuration.validation.experiment import violations_of
from foundation.schema import canonical
from ledger.attention_locality import uniform_concentration
from runners.dag import shared_stages, trial_stages
from runners.stage_labels import all_labels
from runners.stages.attention import MAP_CELLS, UNIFORM, cells, near_and_far

LENGTHS = st.integers(3, 80)


def experiment(**parts: Any) -> Experiment:
    document = {
        "experiment": "looked-at",
        "question": "Where does it look?",
        "baseline": {"recipe": {"sequence_length": 32}},
        "design": {"kind": "list", "arms": {"long": {"recipe.sequence_length": 64}, "short": {"positions": 40}}},
        "pretraining": {"tokens": 1_000_000, "seeds": [1]},
        **parts,
    }
    return Experiment.model_validate_json(json.dumps(document))


MEASURED = {"measure": {"attention_diagonal": {"within": 3, "sequences": 8}}}


@given(LENGTHS, st.integers(1, 9))
def test_every_pair_is_near_or_far_and_marks_are_the_ends(length: int, within: int) -> None:
    near, far, inner_near, inner_far = near_and_far(length, within)
    assert torch.equal(near, ~far)
    for query in range(length):
        for key in range(length):
            assert bool(near[query, key]) == (abs(query - key) <= within)
    assert int((inner_near | inner_far).sum()) == (length - 2) ** 2
    assert not (inner_near | inner_far)[[0, -1]].any()
    even = uniform_concentration(length, within)
    assert even == (None if not far.any() else pytest.approx(int(near.sum()) / int(far.sum())))


@given(LENGTHS)
def test_even_attention_is_the_same_in_every_cell(length: int) -> None:
    found = cells(np.full((length, length), 1 / length))
    assert found.shape == (min(length, MAP_CELLS),) * 2
    assert (found == UNIFORM).all()


def test_a_cell_is_the_mean_of_its_part() -> None:
    found = cells(np.eye(64))
    assert (np.diag(found) == 64 * UNIFORM // 2).all()
    assert found.sum() == np.trace(found)


def test_asking_leaves_the_other_stages_and_the_experiment_as_they_were() -> None:
    plain, asked = experiment(), experiment(**MEASURED)
    before, after = (trial_stages(one, shared_stages(one), one.baseline, 1) for one in (plain, asked))
    assert {label: stage.key for label, stage in before.items()} == {
        label: stage.key for label, stage in after.items() if label != "attention"
    }
    assert all_labels(asked) == (*all_labels(plain), "attention")
    assert "measure" not in canonical(plain)


def test_all_arms_are_asked_about_the_baselines_length_and_their_recipe_is_no_matter() -> None:
    asked = experiment(**MEASURED)
    shared = shared_stages(asked)
    for arm in asked.arms:
        told = trial_stages(asked, shared, arm.candidate, 1)["attention"].declaration
        assert (told.length, told.within, told.sequences) == (32, 3, 8)  # type: ignore[attr-defined]


def told(**parts: Any) -> list[str]:
    place = ("measure", "attention_diagonal")
    return [v.message for v in violations_of(experiment(**MEASURED, **parts)) if v.path == place]


def test_an_arm_too_short_and_a_search_are_refused() -> None:
    long = {"baseline": {"recipe": {"sequence_length": 32}}}
    short = {"short": {"positions": 16, "recipe.sequence_length": 16}}
    (message,) = told(**long, design={"kind": "list", "arms": short})
    assert message == "short has 16 positions; C is compared at the baseline's 32 tokens"
    (message,) = told(design={"kind": "search", "space": {"heads": [2, 4]}, "max_candidates": 2})
    assert "measure selected ones in a list design" in message
    assert not told()


def test_a_claim_may_speak_of_what_is_measured() -> None:
    claim = "attention_diagonal(long) < attention_diagonal(baseline)"
    assert not [v for v in violations_of(experiment(**MEASURED, claims=[claim])) if "claims" in v.path]
    (refused,) = (v for v in violations_of(experiment(claims=[claim])) if "claims" in v.path)
    assert "not measured here" in refused.message
