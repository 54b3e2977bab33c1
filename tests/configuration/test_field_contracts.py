"""Contracts of every field in a file: options by name alone, and exponents for whole numbers."""

from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from steeplechase.configuration.experiment import Experiment
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
