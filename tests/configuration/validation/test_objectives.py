"""Arms and searched candidates are evaluated on the baseline's held-out loss, or refused."""

from pathlib import Path

import pytest

from runners.dag import shared_stages
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import load_experiment
from steeplechase.configuration.validation.experiment import violations_of
from steeplechase.foundation.errors import ConfigurationError

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
DEPTHS = LIST.format(change="depth: 1")
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


MARGIN = "{ until_decided: { max: 5, margin: { held_out_loss: 0.1 } } }"


@pytest.mark.parametrize(
    ("seeds", "more", "reason"),
    [
        ("[1]", "fine_tuning: { tasks: [docs_pair] }", None),
        ("[1]", "", "fine_tuning.tasks is empty"),
        (MARGIN, "fine_tuning: { tasks: [docs_pair] }", "on which by_objective compares no arms"),
    ],
)
def test_such_arms_are_compared_on_tasks_alone_where_the_experiment_allows_them(
    seeds: str, more: str, reason: str | None, tmp_path: Path
) -> None:
    text = TEXT.format(baseline="masked_language_model", design=LIST.format(change="objective: electra_15_percent"))
    file = tmp_path / "drawn.yaml"
    file.write_text(text.replace("seeds: [1]", f"seeds: {seeds}, evaluation_sets: by_objective") + more)
    if reason is None:
        assert len(load_experiment(file, None).arms) == 2
        return
    with pytest.raises(ConfigurationError, match=reason):
        load_experiment(file, None)


def test_a_search_that_may_propose_another_held_out_loss_is_refused(tmp_path: Path) -> None:
    axis = "objective: [masked_language_model, replaced_token_detection]"
    with pytest.raises(ConfigurationError, match="replaced_token_detection trains with another objective"):
        loaded(tmp_path, "masked_language_model", SEARCH.format(axis=axis))


@pytest.mark.parametrize(
    "design",
    [
        LIST.format(change="objective.mask_rate: 0.3"),
        LIST.format(change="objective.selection: whole_word"),
        LIST.format(change="objective: span_boundary"),
        SEARCH.format(axis="objective.mask_rate: [0.1, 0.3]"),
        SEARCH.format(axis="objective: [masked_language_model, span_boundary]"),
    ],
)
def test_arms_with_other_masks_or_a_second_loss_are_evaluated_on_the_baselines(design: str, tmp_path: Path) -> None:
    experiment = loaded(tmp_path, "masked_language_model", design)
    assert {arm.candidate.objective.evaluation for arm in experiment.arms} == {"masked_language_model"}


def test_a_declared_reference_makes_the_set_of_a_baseline_with_a_second_loss(tmp_path: Path) -> None:
    """Plain masks for every arm, whatever the baseline masks: the evaluation set of masked language modelling."""
    spans, plain = (loaded(tmp_path, kind, DEPTHS) for kind in ("span_boundary", "masked_language_model"))
    keys = [shared_stages(experiment).evaluation_set.key for experiment in (spans, plain)]
    assert keys[0] != keys[1]
    pretraining = spans.pretraining.model_copy(update={"evaluation_reference": plain.baseline})
    referred = spans.model_copy(update={"pretraining": pretraining})
    assert not list(violations_of(referred))
    assert shared_stages(referred).evaluation_set.key == keys[1]
