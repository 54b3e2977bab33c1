"""Rules between sections: held-out losses that compare, the tracking store, and names of metrics."""

from pathlib import Path

import pytest

from runners.dag import shared_stages
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from steeplechase.configuration.experiment import Experiment, searched_objectives
from steeplechase.configuration.fine_tuning import FineTuning
from steeplechase.configuration.initial_checkpoint import differing_fields
from steeplechase.configuration.loading import experiment_in, load_experiment
from steeplechase.configuration.validation.experiment import violations_of
from steeplechase.configuration.validation.metrics import unmeasured
from steeplechase.configuration.yaml import read_file
from steeplechase.foundation.errors import ConfigurationError
from tests.factories.paths import EXPERIMENTS

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


TABLE, TIMING = EXPERIMENTS / "table2.yaml", EXPERIMENTS / "table9.yaml"


PASSWORDS = (
    "postgresql://someone:hunter2@host/mlflow",
    "https://someone:hunter2@host",
    "postgresql://host/mlflow?user=someone&password=hunter2",
)


def with_tracking(file: Path, uri: str, folder: Path) -> Path:
    written = folder / file.name
    written.write_text(f'tracking: "{uri}"\n{file.read_text(encoding="utf-8")}', encoding="utf-8")
    return written


@pytest.mark.parametrize("uri", PASSWORDS)
@pytest.mark.parametrize("file", [TABLE, TIMING], ids=lambda file: file.stem)
def test_a_password_is_refused_in_one_line_that_does_not_repeat_it(file: Path, uri: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        experiment_in(read_file(with_tracking(file, uri, tmp_path)), "smoke")
    (line,) = refused.value.lines
    assert f"{file.name}:1: tracking: holds a password" in line
    assert line.endswith("set MLFLOW_TRACKING_URI to the whole address")
    assert "hunter2" not in line


@pytest.mark.parametrize("uri", ["postgresql://someone@host/mlflow", "https://host", "sqlite:///file.db"])
def test_addresses_without_a_password_are_accepted(uri: str, tmp_path: Path) -> None:
    assert load_experiment(with_tracking(TABLE, uri, tmp_path), "smoke").tracking == uri


TUNING = FineTuning(tasks=("docs_answer", "docs_pair"), sequence_length=16)


@pytest.mark.parametrize(
    "name", ["held_out_loss", "score", "docs_pair", "docs_answer:exact_match", "docs_answer:f1 test", "other"]
)
def test_a_measured_name_is_accepted(name: str) -> None:
    assert unmeasured(name, TUNING, others=("other",)) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("scor", "'scor' is not measured here. Allowed: held_out_loss, score, docs_answer, docs_pair. Did you mean"),
        ("docs_pairs:f1", "'docs_pairs:f1' is not measured here"),
        ("cola", "'cola' is not measured here"),
        ("docs_answer:f2", "'docs_answer' has no further metric 'f2'. Allowed: exact_match."),
        ("docs_answer:exact_mach", "Did you mean 'exact_match'?"),
        ("docs_answer:f1", "'docs_answer:f1' is the primary metric of the task. Write 'docs_answer'"),
        ("docs_answer:", "'docs_answer' has no further metric ''"),
        ("score:f1", "'score' has no further metric 'f1'."),
        ("held_out_loss:held_out_loss", "Write 'held_out_loss'"),
    ],
)
def test_another_name_is_refused_with_what_is_allowed(name: str, expected: str) -> None:
    assert expected in (unmeasured(name, TUNING) or "")


def test_a_task_of_another_scale_is_known_to_margins_alone() -> None:
    assert unmeasured("cola:accuracy", TUNING, any_scale=True) is None
    assert unmeasured("score", FineTuning(tasks=()), any_scale=True) is None
    assert "fine_tuning.tasks is empty" in (unmeasured("score", FineTuning(tasks=())) or "")
    wrong = unmeasured("col", TUNING, any_scale=True) or ""
    assert "'col' is not measured here" in wrong
    assert wrong.endswith("Did you mean 'cola'?")


def test_a_decoder_of_another_depth_than_the_initial_checkpoints_is_named() -> None:
    checkpoint = EncoderDecoderArchitecture(decoder_depth=2)
    deeper = EncoderDecoderArchitecture(decoder_depth=3)
    assert [*differing_fields(checkpoint, deeper)] == ["decoder_depth 3 here, 2 in the initial checkpoint"]


def test_an_arm_that_cannot_read_the_evaluation_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        loaded(tmp_path, "masked_language_model", LIST.format(change="positions: 64, recipe.sequence_length: 64"))
    assert "other is evaluated on the same sequences as all arms: 128 is longer than the 64" in str(refused.value)


def test_three_axes_of_an_objective_are_validated_without_their_product(tmp_path: Path) -> None:
    shares = ("mask_token_share", "random_token_share")
    axes = ", ".join(f"objective.{name}: {{ low: 0.01, high: 0.5, step: 0.01 }}" for name in (*shares, "mask_rate"))
    found = loaded(tmp_path, "masked_language_model", SEARCH.format(axis=axes))
    assert len([*searched_objectives(found)]) == 151
