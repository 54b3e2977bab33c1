"""Contracts of every field in a file: names of options alone, exponents, short forms, and labels of stages."""

import string
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from runners.dag import shared_stages, trial_stages
from runners.search.encoding import labels, point_of
from search_space.overrides import apply
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.loading import load_experiment
from steeplechase.configuration.stage_label import StageLabel, fine_tuning_cells, pretraining_marks
from steeplechase.configuration.yaml.nodes import plain_scalar
from steeplechase.foundation.canonical import canonical
from steeplechase.foundation.schema import OPTION, VARIANT_KEY, options_of


def parts(annotation: Any) -> Iterator[Any]:
    """Yield an annotation and everything inside it; what is annotated comes whole, with its validators."""
    yield annotation
    inside = get_args(annotation)[:1] if get_origin(annotation) is Annotated else get_args(annotation)
    for argument in inside if get_origin(annotation) is not Literal else ():
        yield from parts(argument)
    yield from (option for option in options_of(annotation) if option is not annotation and not inside)


def models(*tops: type[BaseModel]) -> dict[type[BaseModel], None]:
    """Return every model that the fields of some models lead to, in the order in which they are met."""
    found: dict[type[BaseModel], None] = dict.fromkeys(tops)
    for _, _, annotation in fields(found):
        for part in parts(annotation):
            if isinstance(part, type) and issubclass(part, BaseModel):
                found.setdefault(part)
    return found


def fields(among: dict[type[BaseModel], None]) -> Iterator[tuple[type[BaseModel], str, Any]]:
    """Yield the fields of models that may grow in number meanwhile, each with its annotation as it was written."""
    done = 0
    while done < len(among):
        model = list(among)[done]
        done += 1
        for name, field in model.model_fields.items():
            whole = (
                cast("Any", Annotated)[(field.annotation, *field.metadata)] if field.metadata else field.annotation
            )
            yield model, name, whole


EVERY = [(model, name, annotation) for model, name, annotation in fields(models(Experiment))]


def whole_numbers() -> Iterator[tuple[str, Any]]:
    for model, name, annotation in EVERY:
        within = [get_args(each)[0] for each in parts(annotation) if get_origin(each) is Annotated]
        for part in parts(annotation):
            bare = get_args(part)[0] if get_origin(part) is Annotated else part
            numeric = bare is int or (get_origin(bare) is Literal and {int} == set(map(type, get_args(bare))))
            if numeric and (get_origin(part) is Annotated or not any(part is each for each in within)):
                yield f"{model.__name__}.{name}", part


def unions() -> Iterator[tuple[str, Any]]:
    for model, name, annotation in EVERY:
        for part in parts(annotation):
            if get_origin(part) is Annotated and OPTION in part.__metadata__:
                yield f"{model.__name__}.{name}", part


def accepted(adapter: TypeAdapter[Any], value: object, strict: bool | None = None) -> Any:
    """Return the value as it is read, None where it is refused."""
    try:
        return adapter.validate_python(value, strict=strict)
    except ValidationError:
        return None


def test_every_whole_number_may_be_written_with_an_exponent() -> None:
    wrong, names = [], set()
    for name, whole in whole_numbers():
        adapter, read = TypeAdapter(whole), []
        for text, number in (("1e0", 1), ("3e0", 3), ("1e1", 10), ("1.1e1", 11)):
            found = accepted(adapter, plain_scalar(text))
            read += [found] if (type(found), found) == (int, number) else []
            if (found is None) != (accepted(adapter, number) is None):
                wrong.append(f"{name}: {text}")
            texts = (text, str(number), plain_scalar("1.5e0"), plain_scalar("2.5"))
            wrong += [f"{name}: {each!r}" for each in texts if accepted(adapter, each, strict=True) is not None]
        wrong += [] if read else [name]
        names.add(name)
    assert not wrong
    assert {
        "SpanDynamic.kernel_size",
        "Recipe.noise_seed",
        "Pretraining.tokens",
        "Pretraining.seeds",
        "ProgressiveMean.rungs",
        "TaskSettings.epochs",
        "SettingsSearch.epochs",
        "Search.seed",
        "Latency.warm_up_rounds",
    } <= names


def test_the_name_of_an_option_alone_is_the_option_with_its_defaults() -> None:
    wrong = []
    for name, union in unions():
        adapter = TypeAdapter(union)
        for option in options_of(get_args(union)[0]):
            kind = str(get_args(option.model_fields[VARIANT_KEY].annotation)[0])
            missing = {key for key, field in option.model_fields.items() if field.is_required()}
            try:
                short = adapter.validate_python(kind)
            except ValidationError as refused:
                faults = {(error["type"], error["loc"][-1]) for error in refused.errors()}
                wrong += [] if faults == {("missing", key) for key in missing} else [f"{name}: {kind}"]
                continue
            long = adapter.validate_python({VARIANT_KEY: kind})
            if missing or type(short) is not option or canonical(short) != canonical(long) or short != long:
                wrong.append(f"{name}: {kind}")
    assert not wrong


def test_every_union_of_options_accepts_names() -> None:
    """A union of models with a kind is one of options."""
    every = ((f"{model.__name__}.{name}", annotation) for model, name, annotation in EVERY)
    tagged = {name for name, annotation in every if any(map(_is_tagged, parts(annotation)))}
    named = {name for name, _ in unions()}
    assert tagged <= named
    assert {"Architecture.convolution", "Candidate.objective", "Recipe.schedule", "Pretraining.hurdle"} <= named
    assert {"Experiment.corpus", "Experiment.tokenizer", "Experiment.design", "FineTuning.corpus"} <= named


def _is_tagged(part: Any) -> bool:
    if get_origin(part) not in (Union, UnionType):
        return False
    members = [each for each in get_args(part) if isinstance(each, type) and issubclass(each, BaseModel)]
    return len(members) > 1 and all(VARIANT_KEY in member.model_fields for member in members)


def test_no_field_has_two_bounds_of_one_kind() -> None:
    """Of two, pydantic keeps that of the type: `Count = Field(ge=2)` would accept 1."""
    bounds = {(model, name): [type(each) for each in model.model_fields[name].metadata] for model, name, _ in EVERY}
    assert [field for field, kinds in bounds.items() if len(kinds) != len(set(kinds))] == []


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
    stages = [*shared.by_label.values()]
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


WORDS = st.text(string.ascii_letters + string.digits + "_.-", min_size=1, max_size=12)


NAMES = st.text(string.ascii_letters + "_.", min_size=1, max_size=12)


VALUES = st.text(string.ascii_letters + string.digits + "_.-", max_size=8)


COUNTS = st.integers(0, 10**12)


LABELS = st.one_of(
    st.builds(StageLabel, st.just("untrained"), task=WORDS, seed=COUNTS),
    st.builds(StageLabel, WORDS),
    st.builds(StageLabel, WORDS, tokens=COUNTS),
    st.builds(StageLabel, WORDS, task=WORDS),
    st.builds(StageLabel, WORDS, number=COUNTS),
    st.builds(StageLabel, WORDS, length=COUNTS),
    st.builds(
        StageLabel,
        st.just("fine_tune"),
        task=WORDS,
        seed=COUNTS,
        searched=st.lists(st.tuples(NAMES, VALUES), max_size=3).map(tuple),
    ),
)


@given(LABELS)
def test_labels_survive_a_round_trip(label: StageLabel) -> None:
    assert StageLabel.parse(str(label)) == label


@given(st.text(max_size=30) | st.text("@# =a1", max_size=12))
def test_the_text_of_a_label_survives_being_read(text: str) -> None:
    assert str(StageLabel.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("pretrain@500000", StageLabel("pretrain", tokens=500_000)),
        ("probe@500000", StageLabel("probe", tokens=500_000)),
        ("docs_pair#1", StageLabel("fine_tune", task="docs_pair", seed=1)),
        (
            "rte#2 epochs=3 peak_learning_rate=0.0001",
            StageLabel("fine_tune", task="rte", seed=2, searched=(("epochs", "3"), ("peak_learning_rate", "0.0001"))),
        ),
        ("examples rte", StageLabel("examples", task="rte")),
        ("contamination squad_v2_0", StageLabel("contamination", task="squad_v2_0")),
        ("corpus for tasks 1", StageLabel("corpus", number=1)),
        ("untrained for tasks 2", StageLabel("untrained", number=2)),
        ("untrained cola#2", StageLabel("untrained", task="cola", seed=2)),
        ("long_sequence_phase", StageLabel("long_sequence_phase")),
        ("latency n = 128", StageLabel("latency", length=128)),
    ],
)
def test_the_labels_of_ledgers(text: str, label: StageLabel) -> None:
    assert (str(label), StageLabel.parse(text)) == (text, label)


def test_a_trials_stages_are_read_from_their_labels() -> None:
    labels = ("pretrain@5", "probe@5", "pretrain@9", "attention", "rte#1 epochs=3", "rte#1 epochs=10", "wnli#1")
    assert pretraining_marks(labels) == ("pretrain@5", "pretrain@9")
    assert [str(cell) for cell in fine_tuning_cells(labels)] == ["rte#1", "wnli#1"]
