"""Arms and searched candidates are evaluated on the baseline's held-out loss, or refused."""

from pathlib import Path

import pytest

from configuration.experiment import Experiment
from configuration.loading import load_experiment
from foundation.errors import ConfigurationError

TEXT = """
experiment: drawn
question: What?
baseline:
  architecture: {{ depth: 2, width: 64, embedding_width: 64, heads: 4, vocabulary_size: 4000 }}
  objective: {baseline}
design: {design}
pretraining: {{ tokens: 1000000, seeds: [1] }}
"""
LIST = "{{ kind: list, arms: {{ other: {{ {change} }} }} }}"
SEARCH = "{{ kind: search, max_candidates: 4, space: {{ {axis} }} }}"


def loaded(folder: Path, baseline: str, design: str) -> Experiment:
    file = folder / "drawn.yaml"
    file.write_text(TEXT.format(baseline=baseline, design=design))
    return load_experiment(file, None)


@pytest.mark.parametrize(
    ("baseline", "change"),
    [("masked_language_model", "replaced_token_detection"), ("replaced_token_detection", "masked_language_model")],
)
def test_an_arm_with_another_held_out_loss_is_refused(baseline: str, change: str, tmp_path: Path) -> None:
    expected = f"other trains with another objective than the baseline ({baseline}); held-out losses would not be"
    with pytest.raises(ConfigurationError, match="not be comparable") as refusal:
        loaded(tmp_path, baseline, LIST.format(change=f"objective: {change}"))
    assert any(expected in line for line in refusal.value.lines)


def test_a_search_that_may_propose_another_held_out_loss_is_refused(tmp_path: Path) -> None:
    axis = "objective: [masked_language_model, replaced_token_detection]"
    with pytest.raises(ConfigurationError, match="replaced_token_detection trains with another objective"):
        loaded(tmp_path, "masked_language_model", SEARCH.format(axis=axis))


@pytest.mark.parametrize(
    "design", [LIST.format(change="objective.mask_rate: 0.3"), SEARCH.format(axis="objective.mask_rate: [0.1, 0.3]")]
)
def test_arms_with_other_masks_are_evaluated_on_the_baselines(design: str, tmp_path: Path) -> None:
    experiment = loaded(tmp_path, "masked_language_model", design)
    assert {arm.candidate.objective.evaluation for arm in experiment.arms} == {"masked_language_model"}
