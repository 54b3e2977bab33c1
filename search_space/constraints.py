"""Constraints on the candidates of an experiment, besides the rules of the architecture.

A name is a path of the space as in a design (`bottleneck_ratio`, `convolution.kernel_size`, `recipe.dropout`), or one
of the counts in closed form: `parameters`, `forward_flops`, and `self_attentions`, the self-attention sublayers of
`layers`. The value of an option's path is its kind. A constraint on a field that a candidate's option lacks does not
apply to that candidate, nor one on the sublayers of a module that is built by a factory.
"""

from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import AfterValidator

from search_space.architecture import Architecture
from search_space.bottleneck import ratio_as_number
from search_space.candidate import Candidate
from search_space.constraint_language import Constant, Expression, InvalidExpression, Value, parse
from search_space.layer_program import SublayerKind
from search_space.overrides import absolute_path
from steeplechase.foundation.errors import did_you_mean
from steeplechase.foundation.schema import VARIANT_KEY, Schema, cached_until_options_change, options_of

COUNTS = ("parameters", "forward_flops", "self_attentions")


@cached_until_options_change
def known_paths() -> tuple[str, ...]:
    """Return every path that a design may vary, those of every option included."""
    return tuple(_values_by_path())


@cached_until_options_change
def _values_by_path() -> dict[str, tuple[str, ...]]:
    """Return the allowed texts by path: kinds of options, or named choices; empty for numbers."""
    texts: dict[str, tuple[str, ...]] = {}
    for path, annotation in _paths(Candidate, ""):
        name = path.removeprefix("architecture.")
        texts[name] = tuple(dict.fromkeys((*texts.get(name, ()), *_texts(annotation))))
    return texts


@cached_until_options_change
def parsed(text: str) -> Expression:
    """Return the expression. Raises InvalidExpression for a syntax error, an unknown path or an unknown value."""
    expression = parse(text)
    known = (*known_paths(), *COUNTS)
    for name in expression.names:
        if name not in known:
            hint = did_you_mean(name, known, "", str) or "Text stands in quotes, as in convolution == 'none'"
            raise InvalidExpression(f"{name} is not a path of the space. {hint}")
    for name, literal in expression.equalities:
        _check_value(name, literal)
    return expression


def _check_value(name: str, literal: Constant) -> None:
    """Raise InvalidExpression for a value that a path never has: the comparison would be constant."""
    allowed = _values_by_path().get(name, ())
    if allowed and literal not in allowed:
        hint = did_you_mean(str(literal), allowed, ". ")
        raise InvalidExpression(
            f"{literal!r} is never a value of {name}; allowed: {', '.join(map(repr, allowed))}{hint}"
        )
    if not allowed and isinstance(literal, bool | str):
        shown = str(literal).lower() if isinstance(literal, bool) else repr(literal)
        raise InvalidExpression(f"{shown} is never a value of {name}, which is a number")


def broken_by(candidate: Candidate, constraints: tuple[str, ...]) -> str | None:
    """Return the first violated constraint with the candidate's values, None if all are satisfied."""
    for text in constraints:
        expression = parsed(text)
        try:
            truth = expression.truth(lambda name: _value(candidate, name))
        except InvalidExpression as error:
            return f"{text!r} cannot be evaluated: {error}"
        if truth is False:
            values = ", ".join(f"{name} is {_value(candidate, name)}" for name in expression.names)
            return f"breaks {text!r}: {values}" if values else f"breaks {text!r}"
    return None


def _checked(text: str) -> str:
    parsed(text)
    return text


Constraint = Annotated[str, AfterValidator(_checked)]


def _value(candidate: Candidate, name: str) -> Value:
    if name == "parameters":
        return candidate.architecture.parameters
    if name == "forward_flops":
        return candidate.architecture.forward_flops(candidate.recipe.sequence_length)
    if name == "self_attentions":
        return _self_attentions(candidate.architecture)
    value: Any = candidate
    for part in absolute_path(name):
        if not isinstance(value, Schema) or part not in type(value).model_fields:
            return None
        value = getattr(value, part)
        value = ratio_as_number(value) if part == "bottleneck_ratio" else value
    constant: Value = getattr(value, VARIANT_KEY) if isinstance(value, Schema) else value
    return constant


def _self_attentions(architecture: Architecture) -> int | None:
    if architecture.is_counted:
        return None
    kinds = [sublayer.kind for sublayer in architecture.program.sublayers()]
    return kinds.count(SublayerKind.SELF_ATTENTION)


def _texts(annotation: Any) -> tuple[str, ...]:
    """Return the kinds of a union of options, or the choices of a field that has named ones."""
    if get_origin(annotation) is Annotated:
        return _texts(get_args(annotation)[0])
    if get_origin(annotation) is Literal:
        return tuple(map(str, get_args(annotation)))
    kinds = [model.model_fields[VARIANT_KEY].annotation for model in _models(annotation)]
    return tuple(text for kind in kinds for text in _texts(kind))


def _paths(annotation: Any, prefix: str) -> list[tuple[str, Any]]:
    paths: list[tuple[str, Any]] = []
    for model in _models(annotation):
        for name, field in model.model_fields.items():
            path = f"{prefix}.{name}".removeprefix(".")
            inner = _paths(field.annotation, path)
            option = any(VARIANT_KEY in each.model_fields for each in _models(field.annotation))
            paths += [*([(path, field.annotation)] if option or not inner else []), *inner]
    return paths


def _models(annotation: Any) -> list[type[Schema]]:
    if get_origin(annotation) is Annotated:
        return _models(get_args(annotation)[0])
    members = options_of(annotation)
    if members != (annotation,):
        return [model for member in members for model in _models(member)]
    return [annotation] if isinstance(annotation, type) and issubclass(annotation, Schema) else []
