"""Constraints have the values of Python expressions, and are never evaluated as code."""

import ast
import operator
import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search_space.candidate import Candidate
from search_space.constraint_language import CHARACTERS_AT_MOST, InvalidExpression, parse
from search_space.constraints import broken_by, known_paths, parsed
from search_space.overrides import apply

VALUES = {"a": 3, "b": 0.5, "c": "text", "d": True}
numbers = st.integers(0, 99).map(str) | st.sampled_from(["a", "b", "2.5", "1e2"])


def nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    sums = st.builds("{} {} {}".format, inner, st.sampled_from("+-*"), inner)
    return sums | inner.map("({})".format) | inner.map("-{}".format)


sums = st.recursive(numbers, nested, max_leaves=6)
comparisons = st.builds(
    "{} {} {}".format, sums, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), sums
) | st.builds("{} <= {} < {}".format, sums, sums, sums)
truths = st.recursive(
    comparisons | st.sampled_from(["c == 'text'", "d == true", "a in [1, 2, 3]"]),
    lambda inner: (
        st.builds("{} {} {}".format, inner, st.sampled_from(["and", "or"]), inner)
        | inner.map("not ({})".format)
        | inner.map("({})".format)
    ),
    max_leaves=5,
).filter(lambda text: len(text) <= CHARACTERS_AT_MOST)


@given(truths)
def test_an_expression_has_the_value_of_python(text: str) -> None:
    python = eval(text, {"__builtins__": {}}, {**VALUES, "true": True})
    assert parse(text).truth(VALUES.__getitem__) is python


WORDS = ("a", "b.c", "not", "and", "or", "in", "2", "2.5", "'x'", *"[](),+-*/%<>", "<=", "==", "!=")
WHITELIST = (
    *(ast.Expression, ast.Name, ast.Attribute, ast.Constant, ast.List, ast.Load, ast.BoolOp, ast.boolop, ast.Compare),
    *(ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq, ast.In),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod),
    *(ast.UnaryOp, ast.Not, ast.USub),
)


def is_part_of_python(text: str) -> bool:
    """Whether Python accepts the text as an expression of comparisons and calculations, without empty lists."""
    try:
        nodes = [*ast.walk(ast.parse(text, mode="eval"))]
    except SyntaxError:
        return False
    return all(isinstance(node, WHITELIST) and getattr(node, "elts", True) != [] for node in nodes)


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12) | truths.map(str.split))
@settings(max_examples=200)
def test_the_language_is_a_subset_of_python(words: list[str]) -> None:
    text = re.sub("'x' (?='x')", "'x' + ", " ".join(words).replace(", ]", ", 2 ]"))  # Python joins or forgives these
    try:
        accepted = bool(parse(text))
    except InvalidExpression:
        accepted = False
    assert accepted == is_part_of_python(text)


@given(truths, st.sets(st.sampled_from("abcd")))
def test_an_expression_that_depends_on_a_missing_value_is_neither_true_nor_false(
    text: str, missing: set[str]
) -> None:
    """A truth value with missing values holds for any values in their place (Kleene)."""
    truth = parse(text).truth(lambda name: None if name in missing else VALUES[name])
    assert truth in (None, parse(text).truth(VALUES.__getitem__))


@given(st.text(max_size=40) | st.text(alphabet="ab<>=!+-*/%()[],'\" .1e", max_size=40))
def test_any_text_parses_or_raises_invalid_expression(text: str) -> None:
    with suppress(InvalidExpression):
        assert parse(text).truth(lambda _: 1) in (True, False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("heads > 2 3", "a comparison, and, or, or the end is needed at character 11, but found '3'"),
        ("(heads > 2", "')' is needed at character 11, but the text ends"),
        ("heads & 2", "a number, a 'text', a name or a sign is needed at character 7, but found '&'"),
        (
            "convolution == none",
            "none is not a path of the space. Text stands in quotes, as in convolution == 'none'",
        ),
        (
            "not (convolution) in ['none', 'spam']",
            "'spam' is never a value of convolution; allowed: 'depthwise', 'dynamic'",
        ),
        ("convolution == 3", "3 is never a value of convolution; allowed: 'depthwise', 'dynamic'"),
        ("convolution.value == 'mine'", "'mine' is never a value of convolution.value; allowed: 'own', 'shared'"),
        (
            "objective.kind == 'mlm'",
            "'mlm' is never a value of objective.kind; allowed: 'all_tokens_masked_language_model'",
        ),
        ("recipe.device != 'gpu'", "'gpu' is never a value of recipe.device; allowed: 'cpu', 'cuda'"),
        ("heads == '2'", "'2' is never a value of heads, which is a number"),
        ("heads == true", "true is never a value of heads, which is a number"),
        ("parameters != 'small'", "'small' is never a value of parameters, which is a number"),
        ("__import__('os')", "a comparison, and, or, or the end is needed at character 11, but found '('"),
        ("1 < 2 " + "and 1 < 2 " * 30, "306 characters are too many; at most 200 allowed"),
    ],
)
def test_an_invalid_constraint_is_reported_with_its_position(text: str, message: str) -> None:
    with pytest.raises(InvalidExpression) as meaningless:
        parsed(text)
    assert str(meaningless.value).startswith(message)


@given(st.integers(1, 16), st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
def test_a_path_has_the_candidates_value(limit: int, sign: str) -> None:
    compare = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}
    holds = not compare["=="](4, limit) if sign == "!=" else compare[sign](4, limit)
    assert (broken_by(Candidate(), (f"heads {sign} {limit}",)) is None) == holds


@pytest.mark.parametrize(
    ("changes", "text", "told"),
    [
        ({}, "convolution.kernel_size > 100", None),  # there is no kernel
        ({}, "not convolution.kernel_size > 100", None),
        ({"convolution": "dynamic"}, "convolution.kernel_size > 100", "convolution.kernel_size is 9"),
        ({}, "convolution == 'none' or convolution.kernel_size > 100", None),
        ({"convolution": "dynamic"}, "convolution in ['none', 'depthwise']", "convolution is dynamic"),
        ({}, "parameters <= 13483008", None),
        ({"depth": 13}, "parameters <= 13483008", "parameters is 14272768"),
        ({}, "heads % 0 == 0", "cannot be evaluated: 4 % 0 has no value"),
        ({}, "convolution < 3", "cannot be evaluated: 'none' is not a number, and < needs one"),
        ({}, "heads + 1", "cannot be evaluated: 5 is neither true nor false; compare it with something"),
    ],
)
def test_a_constraint_on_a_missing_field_does_not_apply(changes: dict[str, Any], text: str, told: str | None) -> None:
    reason = broken_by(apply(Candidate(), changes), (text,))
    assert reason is None if told is None else reason is not None and reason.endswith(told)


@pytest.mark.parametrize(
    "text",
    [
        "convolution != 'none'",
        "convolution in ['none', 'span_dynamic'] or heads in [2, 4]",
        "'shared' == convolution.value",
        "heads == 2 == bottleneck_ratio",
        "recipe.precision != 'bfloat16' or recipe.device == 'cuda'",
        "heads * 2 == 8 and -2 != depth",
    ],
)
def test_values_that_a_path_can_have_are_accepted(text: str) -> None:
    assert parsed(text).text == text


def test_every_field_that_a_design_may_vary_is_a_path() -> None:
    assert {"heads", "convolution", "convolution.kernel_size", "objective.mask_rate", "recipe.dropout"} <= set(
        known_paths()
    )
    for path in known_paths():
        assert broken_by(Candidate(), (f"{path} == {path}",)) is None


def test_a_ratio_written_as_a_fraction_is_compared_as_a_number() -> None:
    ratio = apply(Candidate(), {"heads": 8, "bottleneck_ratio": "4/3"})
    assert broken_by(ratio, ("bottleneck_ratio < 1.34", "bottleneck_ratio > 1.33")) is None
    assert broken_by(ratio, ("bottleneck_ratio >= 1.5",)) is not None
