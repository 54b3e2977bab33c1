"""Claims: expected orderings of two arms, by the experiment's author or a paper; the report tests them. Pure.

An experiment writes `{ metric: score, higher: a, than: b, by: 0.1 }`, `{ metric: held_out_loss, lower: a, than: b }`
or `{ metric: score, level: [a, b], within: 0.5 }`; in short `score(a) > score(b) by 0.1`, `held_out_loss(a) <
held_out_loss(b)`, `score(a) ~ score(b) within 0.5`. A paper's orderings are `a > b ~ c`, better and level, on every
headline metric. A name with spaces (in an ordering), unmatched brackets or quotes is quoted; a backslash escapes a
quote inside it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_serializer, model_validator

from steeplechase.configuration.metrics import BUILT_IN_METRICS
from steeplechase.foundation.errors import closest, did_you_mean
from steeplechase.foundation.schema import PositiveNumber, Schema

QUOTED = r'"(?:[^"\\]|\\.)*"|' + r"'(?:[^'\\]|\\.)*'"
UNQUOTED = r"[^()\"']+(?:\([^()\"']*\)[^()\"']*)*"


def _side(metric: str, arm: str) -> str:
    return rf"(?P<{metric}>[^\s()]+)\(\s*(?P<{arm}>{QUOTED}|{UNQUOTED})\s*\)"


SHORT_FORM = re.compile(
    rf"\s*{_side('metric', 'first')}\s*(?P<sign>[<>~])\s*{_side('other_metric', 'second')}\s*"
    r"((?P<keyword>by|within)\s+(?P<size>\d+\.?\d*([eE][-+]?\d+)?|\.\d+)\s*)?"
)
TOKEN = re.compile(rf"\s*({QUOTED}|[^\s\"']\S*)(?=\s|$)")
EXAMPLE = "score(a) > score(b) by 0.1, held_out_loss(a) < held_out_loss(b) or score(a) ~ score(b) within 0.5"
QUOTING = """put a name with spaces, brackets or quotes in quotes: "a (matched)\""""


class Sign(StrEnum):
    """Relation between the two values of a claim."""

    ABOVE = ">"
    BELOW = "<"
    LEVEL = "~"


class UnclearClaim(ValueError):
    """A text that is not a valid claim; the message says why."""


class Claim(Schema):
    """Compares a metric of two arms: above or below by more than `size`, or level within `size`."""

    sign: ClassVar[Sign]
    metric: str = Field(examples=["score"])
    """The metric that is compared, such as held_out_loss, score or a task."""

    @property
    def arms(self) -> tuple[str, str]:
        """The two arms; the claim is about the difference first minus second."""
        raise NotImplementedError

    @property
    def size(self) -> float:
        """The smallest difference, for level arms the largest; 0 if none is given."""
        raise NotImplementedError

    @property
    def first(self) -> str:
        """The arm that is above, below or level."""
        return self.arms[0]

    @property
    def second(self) -> str:
        """The arm that it is compared with."""
        return self.arms[1]

    @property
    def bounds(self) -> tuple[float, float]:
        """The interval of the difference, first minus second, if the claim is true."""
        return {
            Sign.ABOVE: (self.size, inf),
            Sign.BELOW: (-inf, -self.size),
            Sign.LEVEL: (-self.size, self.size),
        }[self.sign]

    @model_validator(mode="after")
    def _of_two_arms(self) -> Self:
        if self.first == self.second:
            raise UnclearClaim(f"{str(self)!r} compares {self.first} with itself")
        return self

    @model_serializer
    def __str__(self) -> str:
        """Return the claim in its short form, in which the ledger stores it."""
        sides = [f"{self.metric}({_quoted(name, UNQUOTED)})" for name in self.arms]
        keyword = "within" if self.sign is Sign.LEVEL else "by"
        short = f"{self.size:g}"
        size = short if float(short) == self.size else repr(self.size)
        return f"{sides[0]} {self.sign} {sides[1]}{f' {keyword} {size}' if self.size else ''}"


class UnequalClaim(Claim):
    """One arm is above or below another, by more than a size if one is given."""

    than: str = Field(examples=["depthwise"])
    """The arm that it is compared with."""
    by: PositiveNumber | None = None
    """The smallest difference that is claimed; any difference by default."""

    @property
    def size(self) -> float:
        """The smallest difference that is claimed."""
        return self.by or 0.0


class HigherClaim(UnequalClaim):
    """`{ metric: score, higher: a, than: b, by: 0.1 }`: the score of a is above that of b by more than 0.1."""

    sign: ClassVar[Sign] = Sign.ABOVE
    higher: str = Field(examples=["dynamic"])
    """The arm with the larger value."""

    @property
    def arms(self) -> tuple[str, str]:
        """The higher arm, then the other."""
        return self.higher, self.than


class LowerClaim(UnequalClaim):
    """`{ metric: held_out_loss, lower: a, than: b, by: 0.1 }`: the loss of a is below that of b by more than 0.1."""

    sign: ClassVar[Sign] = Sign.BELOW
    lower: str = Field(examples=["dynamic"])
    """The arm with the smaller value."""

    @property
    def arms(self) -> tuple[str, str]:
        """The lower arm, then the other."""
        return self.lower, self.than


class LevelClaim(Claim):
    """`{ metric: score, level: [a, b], within: 0.5 }`: the two arms differ by less than 0.5 in either direction."""

    sign: ClassVar[Sign] = Sign.LEVEL
    level: tuple[str, str] = Field(examples=[["dynamic", "depthwise"]])
    """The two arms."""
    within: PositiveNumber | None = Field(examples=[0.5])
    """Equivalence margin: the largest difference that counts as level; without one, no result supports the claim."""

    @property
    def arms(self) -> tuple[str, str]:
        """The two arms that are claimed to be level."""
        return self.level

    @property
    def size(self) -> float:
        """The equivalence margin, 0 if none is given."""
        return self.within or 0.0


def _read_short_form(value: Any) -> Any:
    return parse_claim(value) if isinstance(value, str) else value


def _form(value: Any) -> str:
    if isinstance(value, Claim):
        return type(value).__name__
    known = {"lower": LowerClaim.__name__, "level": LevelClaim.__name__}
    keys = value if isinstance(value, Mapping) else ()
    return next((form for key, form in known.items() if key in keys), HigherClaim.__name__)


_Form = Annotated[
    Annotated[HigherClaim, Tag("HigherClaim")]
    | Annotated[LowerClaim, Tag("LowerClaim")]
    | Annotated[LevelClaim, Tag("LevelClaim")],
    Discriminator(_form),
]
DeclaredClaim = Annotated[_Form, BeforeValidator(_read_short_form, json_schema_input_type=_Form | str)]
"""A claim as a mapping, or in its short form as text."""


def claim_of(metric: str, first: str, sign: Sign, second: str, size: float) -> Claim:
    """Return the claim about two arms. Raises ValidationError if they are the same arm."""
    if sign is Sign.LEVEL:
        return LevelClaim(metric=metric, level=(first, second), within=size or None)
    if sign is Sign.ABOVE:
        return HigherClaim(metric=metric, higher=first, than=second, by=size or None)
    return LowerClaim(metric=metric, lower=first, than=second, by=size or None)


@dataclass(frozen=True)
class Ordering:
    """A paper's ordering of two arms: the first is better, or they are level."""

    first: str
    level: bool
    second: str

    def __str__(self) -> str:
        """Return the ordering in its written form."""
        first, second = (_quoted(name, r"[^\s\"'<>~]\S*") for name in (self.first, self.second))
        return f"{first} {Sign.LEVEL if self.level else Sign.ABOVE} {second}"

    def on(self, metric: str, lower_is_better: bool, margin: float | None) -> Claim:
        """Return the claim that the ordering makes about a metric; level means within the margin, if there is one."""
        if self.level:
            return claim_of(metric, self.first, Sign.LEVEL, self.second, margin or 0.0)
        return claim_of(metric, self.first, Sign.BELOW if lower_is_better else Sign.ABOVE, self.second, 0.0)


def parse_claim(text: str) -> Claim:
    """Return the claim of a text. Raises UnclearClaim."""
    match = SHORT_FORM.fullmatch(text)
    if match is None:
        raise UnclearClaim(f"{text!r} is not a claim; write {EXAMPLE}, and {QUOTING}")
    sign, keyword, metric = Sign(match["sign"]), match["keyword"], match["metric"]
    if match["other_metric"] != metric:
        others = (each for each in (metric, match["other_metric"]) if each not in BUILT_IN_METRICS)
        unknown = next((each for each in others if closest(each, BUILT_IN_METRICS) is not None), None)
        if unknown is not None:
            raise UnclearClaim(f"{text!r}: {unknown!r} is not a metric.{did_you_mean(unknown, BUILT_IN_METRICS)}")
        raise UnclearClaim(f"{text!r} compares {metric} with {match['other_metric']}; both sides must be one metric")
    if keyword != ("within" if sign is Sign.LEVEL else "by") and (keyword or sign is Sign.LEVEL):
        needed = "~ needs `within` and a size" if sign is Sign.LEVEL else f"{sign} takes `by` and a size, or nothing"
        raise UnclearClaim(f"{text!r}: {needed}")
    size = float(match["size"] or 0)
    if keyword and not 0 < size < inf:
        raise UnclearClaim(f"{text!r}: the size must be more than 0{' and finite' if size else ''}")
    first, second = _unquoted(match["first"]), _unquoted(match["second"])
    if first == second:
        raise UnclearClaim(f"{text!r} compares {first} with itself")
    return claim_of(metric, first, sign, second, size)


def parse_orderings(text: str) -> tuple[Ordering, ...]:
    """Return the orderings of neighbours in a chain `a > b ~ c`. Raises UnclearClaim."""
    tokens = list(_tokens(text))
    names, signs = tokens[::2], tokens[1::2]
    unnamed = any(name in (">", "~", "<") for name in names)
    if unnamed or not signs or len(names) != len(signs) + 1 or set(signs) - {">", "~"}:
        raise UnclearClaim(f'{text!r} is not of the form "a > b" or "a ~ b"; {QUOTING}')
    arms = [_unquoted(name) for name in names]
    orderings = tuple(Ordering(a, sign == "~", b) for a, sign, b in zip(arms, signs, arms[1:], strict=False))
    same = next((ordering for ordering in orderings if ordering.first == ordering.second), None)
    if same is not None:
        raise UnclearClaim(f"{text!r} compares {same.first} with itself")
    return orderings


def _tokens(text: str) -> Iterator[str]:
    position = 0
    while text[position:].strip():
        match = TOKEN.match(text, position)
        if match is None:
            raise UnclearClaim(f"{text!r}: a quote is not closed, or is not followed by a space; {QUOTING}")
        yield match[1]
        position = match.end()


def _unquoted(name: str) -> str:
    stripped = name.strip()
    return re.sub(r"\\(.)", r"\1", stripped[1:-1]) if stripped[:1] in ("'", '"') else stripped


def _quoted(name: str, unquoted: str) -> str:
    if re.fullmatch(unquoted, name) and name == name.strip():
        return name
    return '"' + re.sub(r'(["\\])', r"\\\1", name) + '"'
