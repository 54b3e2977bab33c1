"""A file in short forms (an option's name alone, exponents) is the file in long forms, down to the stages' keys."""

from pathlib import Path

from runners.dag import shared_stages, trial_stages
from runners.search.encoding import labels, point_of
from search_space.overrides import apply
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import load_experiment
from steeplechase.foundation.canonical import canonical

LONG = """
experiment: forms
question: Is it the same?
baseline:
  architecture: { depth: 2, width: 64, heads: 4, convolution: { kind: span_dynamic, kernel_size: 9 } }
  objective: { kind: masked_language_model, mask_rate: 0.15 }
  recipe: { sequence_length: 64, batch_sequences: 10, schedule: { kind: constant }, noise_seed: 100 }
design: { kind: one_factor, vary: { convolution: [{ kind: dynamic, kernel_size: 11 }] } }
corpus: { kind: documentation }
tokenizer: { kind: wordpiece }
pretraining: { tokens: 2000000, seeds: [1, 20], hurdle: { kind: finite } }
"""
SHORT = """
experiment: forms
question: Is it the same?
baseline:
  architecture: { depth: 2e0, width: 6.4e1, heads: 4, convolution: span_dynamic }
  objective: masked_language_model
  recipe: { sequence_length: 64, batch_sequences: 1e1, schedule: constant, noise_seed: 1e2 }
design: { kind: one_factor, vary: { convolution: [{ kind: dynamic, kernel_size: 1.1e1 }] } }
corpus: documentation
tokenizer: wordpiece
pretraining: { tokens: 2e6, seeds: [1, 2e1], hurdle: finite }
"""


def loaded(folder: Path, text: str, scale: str | None = None) -> Experiment:
    file = folder / "forms.yaml"
    file.write_text(text)
    return load_experiment(file, scale)


def keys(experiment: Experiment) -> list[str]:
    shared = shared_stages(experiment)
    stages = [*shared.named().values()]
    for arm in experiment.arms:
        stages += trial_stages(experiment, shared, arm.candidate, 1).values()
    return [stage.key for stage in stages]


def test_short_and_long_forms_are_one_experiment_with_one_set_of_keys(tmp_path: Path) -> None:
    short, long = loaded(tmp_path, SHORT), loaded(tmp_path, LONG)
    assert short.baseline == long.baseline
    assert short.identity() == long.identity()
    assert {**canonical(short), "design": 0} == {**canonical(long), "design": 0}
    assert [arm.candidate for arm in short.arms] == [arm.candidate for arm in long.arms]
    assert keys(short) == keys(long)


def test_a_name_in_a_scale_replaces_the_entire_option(tmp_path: Path) -> None:
    text = f"{LONG}scales: {{ bare: {{ baseline: {{ architecture: {{ convolution: none }} }} }} }}\n"
    assert loaded(tmp_path, text, "bare").baseline.architecture.convolution.kind == "none"


def test_a_search_knows_a_candidate_by_its_values_however_they_are_written(tmp_path: Path) -> None:
    space = "recipe.peak_learning_rate: [1e-3, 3e-3], heads: [2e0, 4], convolution.kernel_size: [3e0, 5]"
    design = f"design: {{ kind: search, space: {{ {space} }} }}"
    text = LONG.replace(next(line for line in LONG.splitlines() if line.startswith("design:")), design)
    search, baseline = (experiment := loaded(tmp_path, text)).search, experiment.baseline
    assert search is not None
    changed = apply(baseline, {path: values[0] for path, values in search.space.items()})
    for path, label in point_of(search, changed).items():
        assert label == labels(search, path, baseline)[0]
