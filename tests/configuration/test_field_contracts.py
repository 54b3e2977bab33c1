"""Contracts of every field in a file: options by name alone, and exponents for whole numbers."""

from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.latency import LatencyExperiment
from steeplechase.configuration.yaml.nodes import plain_scalar
from steeplechase.foundation.schema import OPTION, VARIANT_KEY, canonical, options_of

FILES: tuple[type[BaseModel], ...] = (Experiment, LatencyExperiment)


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


EVERY = [(model, name, annotation) for model, name, annotation in fields(models(*FILES))]


def whole_numbers() -> Iterator[Any]:
    for model, name, annotation in EVERY:
        for position, part in enumerate(parts(annotation)):
            bare = get_args(part)[0] if get_origin(part) is Annotated else part
            numeric = bare is int or (get_origin(bare) is Literal and {int} == set(map(type, get_args(bare))))
            if numeric and (get_origin(part) is Annotated or not _within_annotated(annotation, part)):
                yield pytest.param(part, id=f"{model.__name__}.{name}-{position}")


def _within_annotated(annotation: Any, part: Any) -> bool:
    return any(get_origin(each) is Annotated and get_args(each)[0] is part for each in parts(annotation))


def unions() -> Iterator[Any]:
    for model, name, annotation in EVERY:
        for part in parts(annotation):
            if get_origin(part) is Annotated and OPTION in part.__metadata__:
                yield pytest.param(part, id=f"{model.__name__}.{name}")


def options(union: Any) -> dict[str, type[BaseModel]]:
    members = options_of(get_args(union)[0])
    return {str(get_args(one.model_fields[VARIANT_KEY].annotation)[0]): one for one in members}


@pytest.mark.parametrize("whole", [*whole_numbers()])
def test_every_whole_number_may_be_written_with_an_exponent(whole: Any) -> None:
    adapter, accepted = TypeAdapter(whole), []
    for text, number in (("1e0", 1), ("3e0", 3), ("1e1", 10), ("1.1e1", 11)):
        try:
            adapter.validate_python(number)
        except ValidationError:
            with pytest.raises(ValidationError):
                adapter.validate_python(plain_scalar(text))
        else:
            found = adapter.validate_python(plain_scalar(text))
            assert (type(found), found) == (int, number)
            accepted.append(number)
        for refused in (text, str(number), plain_scalar("1.5e0"), plain_scalar("2.5")):
            with pytest.raises(ValidationError):
                adapter.validate_python(refused, strict=True)
    assert accepted


def test_the_contract_of_whole_numbers_looks_at_every_kind_of_field() -> None:
    names = {str(each.id).rpartition("-")[0] for each in whole_numbers()}
    assert {
        "SpanDynamic.kernel_size",
        "Recipe.noise_seed",
        "Pretraining.tokens",
        "Pretraining.seeds",
        "ProgressiveMean.rungs",
        "TaskSettings.epochs",
        "SettingsSearch.epochs",
        "Search.seed",
        "Timing.warm_up_rounds",
    } <= names


@pytest.mark.parametrize("union", [*unions()])
def test_the_name_of_an_option_alone_is_the_option_with_its_defaults(union: Any) -> None:
    adapter = TypeAdapter(union)
    for kind, option in options(union).items():
        missing = [name for name, field in option.model_fields.items() if field.is_required()]
        if missing:
            with pytest.raises(ValidationError) as refused:
                adapter.validate_python(kind)
            assert {(error["type"], error["loc"][-1]) for error in refused.value.errors()} == {
                ("missing", name) for name in missing
            }
            continue
        short, long = adapter.validate_python(kind), adapter.validate_python({VARIANT_KEY: kind})
        assert type(short) is option
        assert short == long
        assert canonical(short) == canonical(long)


def test_every_union_of_options_accepts_names() -> None:
    """A union of models with a kind is one of options."""
    tagged = {
        f"{model.__name__}.{name}"
        for model, name, annotation in EVERY
        for part in parts(annotation)
        if _is_tagged(part)
    }
    named = {str(each.id) for each in unions()}
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
