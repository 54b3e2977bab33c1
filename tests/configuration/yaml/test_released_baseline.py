"""`baseline: { like: NAME }`: a released model under the file's own values, in the file, a scale or a setting."""

from pathlib import Path

import pytest

from search_space.overrides import apply
from search_space.released.models import PRESETS
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import experiment_in
from steeplechase.configuration.yaml import read_file
from steeplechase.configuration.yaml.settings import with_settings
from steeplechase.foundation.errors import ConfigurationError

REST = """
design: { kind: list, arms: { other: { recipe.weight_decay: 0.2 } } }
pretraining: { tokens: 1000000000, seeds: [1] }
fine_tuning: { tasks: [], seeds: [1] }
"""


def experiment(folder: Path, baseline: str, scale: str | None = None, settings: tuple[str, ...] = ()) -> Experiment:
    file = folder / "mine.yaml"
    file.write_text(f"experiment: mine\nquestion: Which?\n{baseline}{REST}")
    found = experiment_in(with_settings(read_file(file), scale, settings), scale)
    assert isinstance(found, Experiment)
    return found


def refusal(folder: Path, baseline: str, *settings: str) -> str:
    with pytest.raises(ConfigurationError) as refused:
        experiment(folder, baseline, None, settings)
    (line,) = refused.value.lines
    return line.removeprefix(f"{folder}/")


NEEDS = {"sensebert-base": "lexicon", "wklm-base": "mentions"}
"""Models whose pretraining reads a further file, and its section of an experiment."""


@pytest.mark.parametrize("name", [name for name, preset in PRESETS.items() if preset.has_objective])
def test_a_baseline_like_a_released_model_is_that_model(tmp_path: Path, name: str) -> None:
    baseline = f"baseline: {{ like: {name} }}"
    if name in NEEDS:
        assert f"needs the experiment's {NEEDS[name]}" in refusal(tmp_path, baseline)
    else:
        assert experiment(tmp_path, baseline).baseline == PRESETS[name].candidate


def test_own_values_are_merged_over_the_models(tmp_path: Path) -> None:
    own = "{ like: convbert-small, architecture: { depth: 2, convolution: dynamic }, recipe: { dropout: 0.0 } }"
    expected = apply(
        PRESETS["convbert-small"].candidate, {"depth": 2, "convolution": "dynamic", "recipe.dropout": 0.0}
    )
    assert experiment(tmp_path, f"baseline: {own}").baseline == expected


def test_another_program_of_sublayers_brings_its_own_depth(tmp_path: Path) -> None:
    found = experiment(tmp_path, "baseline: { like: sandwich16_6, architecture: { layers: s f } }").baseline
    assert (found.architecture.depth, found.architecture.width) == (1, 1024)


def test_a_scale_and_a_setting_may_name_the_model_and_the_files_values_stay(tmp_path: Path) -> None:
    baseline = "baseline: { architecture: { depth: 2 } }\nscales: { large: { baseline: { like: bert-large } } }"
    expected = apply(PRESETS["bert-large"].candidate, {"depth": 2})
    assert experiment(tmp_path, baseline, "large").baseline == expected
    assert experiment(tmp_path, baseline, None, ("baseline.like=bert-large",)).baseline == expected
    assert experiment(tmp_path, baseline, "large", ("baseline.like=gpt",)).baseline == apply(
        PRESETS["gpt"].candidate, {"depth": 2}
    )


def test_a_model_without_an_objective_leaves_it_to_the_file(tmp_path: Path) -> None:
    found = experiment(tmp_path, "baseline: { like: transformer-base, objective: denoising }").baseline
    assert found.architecture == PRESETS["transformer-base"].candidate.architecture
    assert "allowed: denoising" in refusal(tmp_path, "baseline: { like: transformer-base }")


def test_an_unknown_model_is_refused_where_it_is_named(tmp_path: Path) -> None:
    unknown = refusal(tmp_path, "baseline:\n  like: bert-bas")
    assert unknown == "mine.yaml:4: baseline.like: 'bert-bas' is not a released model. Did you mean 'bert-base'?"
    assert "Known: albert-base, " in refusal(tmp_path, "baseline: { like: 5g }")
    assert "the name of a released model is needed" in refusal(tmp_path, "baseline: { like: [bert-base] }")
    assert refusal(tmp_path, "baseline: {}", "baseline.like=bert-bas").startswith("--set baseline.like=bert-bas: ")


def test_a_mistake_in_the_models_own_values_names_the_line_of_like(tmp_path: Path) -> None:
    told = refusal(tmp_path, "baseline:\n  like: bert-base\n  architecture: { width: 100, embedding_width: 100 }")
    assert told.startswith("mine.yaml:4: baseline.architecture.heads: 12 does not divide width 100")
