"""Settings of the command line, released baselines, and the schema of files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from search_space.overrides import apply
from search_space.released.models import PRESETS
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import experiment_in
from steeplechase.configuration.yaml import ConfigurationFile, read_file
from steeplechase.configuration.yaml.json_schema import editor_schema
from steeplechase.configuration.yaml.loader import changed_keys, with_settings
from steeplechase.configuration.yaml.nodes import plain
from steeplechase.foundation.errors import ConfigurationError

FILE = """
a: 1
option: dynamic
items: [1, 2]
inner: { x: 1, w: 2 }
vary: { option.kernel_size: [3, 9] }
scales:
  small: { a: 2 }
  large: { a: 3 }
"""


@pytest.fixture
def file(tmp_path: Path) -> ConfigurationFile:
    (tmp_path / "file.yaml").write_text(FILE)
    return read_file(tmp_path / "file.yaml")


@pytest.mark.parametrize(
    ("setting", "key", "value"),
    [
        ("a=1e5", "a", 1e5),
        ("a=7", "a", 7),
        ("a=two words", "a", "two words"),
        ("inner.x=5", "inner", {"x": 5, "w": 2}),
        ("inner={ z: 1 }", "inner", {"z": 1}),
        ("inner={ kind: b }", "inner", {"kind": "b"}),
        ("inner={}", "inner", {}),
        ("items=[3]", "items", (3,)),
        ("option.kernel_size=5", "option", {"kind": "dynamic", "kernel_size": 5}),
        ("new.deep.key=null", "new", {"deep": {"key": None}}),
        ("vary.option.kernel_size=[5]", "vary", {"option.kernel_size": (5,)}),
    ],
)
def test_a_value_is_put_where_its_key_says(file: ConfigurationFile, setting: str, key: str, value: object) -> None:
    changed = with_settings(file, "small", [setting])
    assert plain(changed.documents["small"])[key] == value  # type: ignore[index]
    assert plain(changed.documents["large"]) == plain(file.documents["large"])
    assert changed.scales == file.scales


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("a", "a key and a value are needed, such as pretraining.tokens=1e5"),
        ("=1", "a key and a value are needed, such as pretraining.tokens=1e5"),
        ("a..b=1", "a key and a value are needed, such as pretraining.tokens=1e5"),
        ("a=", "a key and a value are needed, such as pretraining.tokens=1e5"),
        ("scales.small.a=1", "a scale is chosen by --scale"),
        ("plugins=[x]", "plugins are read before any setting; name them in the file"),
        ("items.0=3", "items is a list in the file, without keys; set it as a whole: --set items=..."),
        ("a.b=3", "a is a single value in the file, without keys; set it as a whole: --set a=..."),
    ],
)
def test_a_setting_that_cannot_be_applied_is_refused_with_its_flag(
    file: ConfigurationFile, setting: str, reason: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        _ = with_settings(file, "small", [setting]).scales
    assert refused.value.lines == (f"--set {setting}: {reason}",)


@pytest.mark.parametrize(("setting", "code"), [("a=red\x1b[31m", "U+001B"), ("a=red\udcff", "U+DCFF")])
def test_a_control_character_in_a_setting_is_one_printable_line(
    file: ConfigurationFile, setting: str, code: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        _ = with_settings(file, "small", [setting]).scales
    (line,) = refused.value.lines
    assert line.isprintable()
    assert line.endswith(f": the character {code} at byte offset 3 is not allowed; remove it")


def test_a_value_that_is_no_yaml_is_refused_in_one_line(file: ConfigurationFile) -> None:
    with pytest.raises(ConfigurationError) as refused:
        _ = with_settings(file, "small", ["a=[1"]).scales
    (line,) = refused.value.lines
    assert line.startswith("--set a=[1: ")


def test_every_mistake_is_reported_at_once_and_a_key_is_set_once(file: ConfigurationFile) -> None:
    with pytest.raises(ConfigurationError) as refused:
        _ = with_settings(file, "small", ["a=yes", "b", "inner.x=1", "inner.x=2"]).scales
    flags = {line.partition(": ")[0] for line in refused.value.lines}
    assert flags == {"--set a=yes", "--set b", "--set inner.x=2"}


def test_later_settings_are_put_over_earlier_ones(file: ConfigurationFile) -> None:
    changed = with_settings(file, None, ["inner={ x: 9 }", "inner.w=8"])
    assert plain(changed.documents[None])["inner"] == {"x": 9, "w": 8}  # type: ignore[index]
    assert [*changed_keys(["inner.w= 8", "a=b=c"])] == ["w=8", "a=b=c"]


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
    found = experiment(tmp_path, "baseline: { like: albert-large, architecture: { layers: s f } }").baseline
    assert (found.architecture.depth, found.architecture.width) == (1, 1024)


@pytest.mark.parametrize(
    "architecture",
    [
        "{ depth: 3, layers: s f }",
        "{ kind: encoder_decoder, decoder_depth: 3, decoder_layers: s c f }",
        "{ kind: encoder_decoder, depth: 3, layers: s f }",
    ],
)
def test_a_depth_beside_a_program_of_another_is_a_mistake(tmp_path: Path, architecture: str) -> None:
    objective = "denoising" if "kind" in architecture else "masked_language_model"
    refused = refusal(tmp_path, f"baseline:\n  objective: {objective}\n  architecture: {architecture}")
    assert refused.startswith("mine.yaml:5: baseline.architecture.")
    assert "depth: 3 contradicts" in refused
    assert "whose number of blocks is 1; leave" in refused


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


def resolved(schema: Any, reference: str) -> Any:
    for part in reference.removeprefix("#/").split("/"):
        schema = schema[part]
    return schema


def references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [found for item in schema for found in references(item)]
    if not isinstance(schema, dict):
        return []
    here = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
    return here + [found for item in schema.values() for found in references(item)]


def test_every_field_and_the_scales_are_keys() -> None:
    assert set(editor_schema(Experiment)["properties"]) == {*Experiment.model_fields, "scales"}  # type: ignore[arg-type]


def properties(schema: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every property of a schema with the place of its name."""
    for key, inner in schema.items() if isinstance(schema, dict) else ():
        if key == "properties":
            yield from ((f"{place}.{name}", each) for name, each in inner.items())
        yield from properties(inner, f"{place}.{key}".removeprefix("."))


def test_every_key_and_every_option_has_a_description() -> None:
    schema = editor_schema(Experiment)
    definitions: Any = schema["$defs"]
    described = {
        **dict(properties(schema)),
        **{name: each for name, each in definitions.items() if "enum" not in each},
    }
    short = [place for place, each in described.items() if len(each.get("description", "").split()) < 3]
    assert short == []
    assert len(described) > 100


def test_an_editor_offers_the_names_of_options_alone() -> None:
    definitions: Any = editor_schema(Experiment)["$defs"]
    for name in ("Architecture", "PartialArchitecture"):
        offered = definitions[name]["properties"]["convolution"]["anyOf"]
        assert {
            "enum": ["depthwise", "dynamic", "gated_dynamic", "lightweight", "none", "span_dynamic"],
            "type": "string",
        } in offered


def test_every_reference_leads_somewhere() -> None:
    schema = editor_schema(Experiment)
    assert all(resolved(schema, reference) for reference in references(schema))


def test_nothing_is_required_within_a_scale_and_unknown_keys_still_are_mistakes() -> None:
    schema = editor_schema(Experiment)
    definitions: Any = schema["$defs"]
    partial = {name: each for name, each in definitions.items() if name.startswith("Partial")}
    assert "PartialExperiment" in partial
    for definition in partial.values():
        assert "required" not in definition
        assert definition.get("additionalProperties") is False or "properties" not in definition
        assert all(reference.startswith("#/$defs/Partial") for reference in references(definition))
