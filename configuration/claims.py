"""Claims: what an experiment or a paper says of two arms, to be judged by the results. Pure.

An experiment writes `{ metric: score, higher: a, than: b, by: 0.1 }`, `{ metric: held_out_loss, lower: a, than: b }`
or `{ metric: score, level: [a, b], within: 0.5 }`; in short `score(a) > score(b) by 0.1`, `held_out_loss(a) <
held_out_loss(b)`, `score(a) ~ score(b) within 0.5`. A paper's orderings are `a > b ~ c`, better and level, of every
headline metric. A name that holds spaces (in an ordering), unmatched brackets or quotes is put in quotes; a quote
inside those is written with a backslash before it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_serializer, model_validator

from foundation.errors import did_you_mean
from foundation.schema import PositiveNumber, Schema

QUOTED = r'"(?:[^"\\]|\\.)*"|' + r"'(?:[^'\\]|\\.)*'"
BARE = r"[^()\"']+(?:\([^()\"']*\)[^()\"']*)*"


def _side(metric: str, arm: str) -> str:
    return rf"(?P<{metric}>[^\s()]+)\(\s*(?P<{arm}>{QUOTED}|{BARE})\s*\)"


FORM = re.compile(
    rf"\s*{_side('metric', 'first')}\s*(?P<sign>[<>~])\s*{_side('other_metric', 'second')}\s*"
    r"((?P<word>by|within)\s+(?P<size>\d+\.?\d*([eE][-+]?\d+)?|\.\d+)\s*)?"
)
WORD = re.compile(rf"\s*({QUOTED}|[^\s\"']\S*)(?=\s|$)")
EXAMPLE = "score(a) > score(b) by 0.1, held_out_loss(a) < held_out_loss(b) or score(a) ~ score(b) within 0.5"
QUOTING = """put a name with spaces, brackets or quotes in quotes: "a (matched)\""""


class Sign(StrEnum):
    """How a claim orders two values."""

    ABOVE = ">"
    BELOW = "<"
    LEVEL = "~"


class UnclearClaim(ValueError):
    """A text that is no claim; the message says why."""


class Claim(Schema):
    """A metric of one arm against that of another: above or below by more than `size`, or level within it."""

    sign: ClassVar[Sign]
    metric: str = Field(examples=["score"])
    """The metric that is compared, such as held_out_loss, score or a task."""

    @property
    def arms(self) -> tuple[str, str]:
        """The arms whose difference, first minus second, is claimed."""
        raise NotImplementedError

    @property
    def size(self) -> float:
        """The smallest, or for level arms the largest, difference; 0 where none is named."""
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
        """Between which values the difference, first minus second, lies if the claim is true."""
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
        """Return the claim in its short form, which is also how a ledger stores it."""
        sides = [f"{self.metric}({_written(name, BARE)})" for name in self.arms]
        word = "within" if self.sign is Sign.LEVEL else "by"
        short = f"{self.size:g}"
        size = short if float(short) == self.size else repr(self.size)
        return f"{sides[0]} {self.sign} {sides[1]}{f' {word} {size}' if self.size else ''}"


class UnequalClaim(Claim):
    """One arm is above or below another, by more than a size where one is named."""

    than: str = Field(examples=["depthwise"])
    """The arm that it is compared with."""
    by: PositiveNumber | None = None
    """The smallest difference that is claimed; any where none is named."""

    @property
    def size(self) -> float:
        """The smallest difference that is claimed."""
        return self.by or 0.0


class HigherClaim(UnequalClaim):
    """`{ metric: score, higher: a, than: b, by: 0.1 }`: a's is above b's by more than 0.1."""

    sign: ClassVar[Sign] = Sign.ABOVE
    higher: str = Field(examples=["dynamic"])
    """The arm with the larger value."""

    @property
    def arms(self) -> tuple[str, str]:
        """The higher arm and the other one."""
        return self.higher, self.than


class LowerClaim(UnequalClaim):
    """`{ metric: held_out_loss, lower: a, than: b, by: 0.1 }`: a's is below b's by more than 0.1."""

    sign: ClassVar[Sign] = Sign.BELOW
    lower: str = Field(examples=["dynamic"])
    """The arm with the smaller value."""

    @property
    def arms(self) -> tuple[str, str]:
        """The lower arm and the other one."""
        return self.lower, self.than


class LevelClaim(Claim):
    """`{ metric: score, level: [a, b], within: 0.5 }`: the two differ by less than 0.5 in either direction."""

    sign: ClassVar[Sign] = Sign.LEVEL
    level: tuple[str, str] = Field(examples=[["dynamic", "depthwise"]])
    """The two arms."""
    within: PositiveNumber | None = Field(examples=[0.5])
    """The largest difference that counts as none; without one, a claim can only be contradicted."""

    @property
    def arms(self) -> tuple[str, str]:
        """The two arms."""
        return self.level

    @property
    def size(self) -> float:
        """The largest difference that counts as none."""
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
"""A claim in any of its forms, or as a short text."""


def claim_of(metric: str, first: str, sign: Sign, second: str, size: float) -> Claim:
    """Return the claim about two arms. Raises ValidationError where they are one arm."""
    if sign is Sign.LEVEL:
        return LevelClaim(metric=metric, level=(first, second), within=size or None)
    if sign is Sign.ABOVE:
        return HigherClaim(metric=metric, higher=first, than=second, by=size or None)
    return LowerClaim(metric=metric, lower=first, than=second, by=size or None)


@dataclass(frozen=True)
class Ordering:
    """What a paper says of two arms: the first is better, or they are level."""

    first: str
    level: bool
    second: str

    def __str__(self) -> str:
        """Return the ordering as it would be written."""
        first, second = (_written(name, r"[^\s\"'<>~]\S*") for name in (self.first, self.second))
        return f"{first} {Sign.LEVEL if self.level else Sign.ABOVE} {second}"

    def on(self, metric: str, lower_is_better: bool, margin: float | None) -> Claim:
        """Return the claim that the ordering makes of a metric; level is within the margin, where there is one."""
        if self.level:
            return claim_of(metric, self.first, Sign.LEVEL, self.second, margin or 0.0)
        return claim_of(metric, self.first, Sign.BELOW if lower_is_better else Sign.ABOVE, self.second, 0.0)


def parse_claim(text: str) -> Claim:
    """Return what a text claims. Raises UnclearClaim."""
    found = FORM.fullmatch(text)
    if found is None:
        raise UnclearClaim(f"{text!r} is not a claim; write {EXAMPLE}, and {QUOTING}")
    sign, word, metric = Sign(found["sign"]), found["word"], found["metric"]
    if found["other_metric"] != metric:
        raise UnclearClaim(f"{text!r} compares {metric} with {found['other_metric']}; both sides must be one metric")
    if word != ("within" if sign is Sign.LEVEL else "by") and (word or sign is Sign.LEVEL):
        needed = "~ needs `within` and a size" if sign is Sign.LEVEL else f"{sign} takes `by` and a size, or nothing"
        raise UnclearClaim(f"{text!r}: {needed}")
    size = float(found["size"] or 0)
    if word and not 0 < size < inf:
        raise UnclearClaim(f"{text!r}: the size must be more than 0{' and finite' if size else ''}")
    first, second = _read(found["first"]), _read(found["second"])
    if first == second:
        raise UnclearClaim(f"{text!r} compares {first} with itself")
    return claim_of(metric, first, sign, second, size)


def parse_orderings(text: str) -> tuple[Ordering, ...]:
    """Return the orderings of neighbours in a chain `a > b ~ c`. Raises UnclearClaim."""
    words = list(_words(text))
    names, signs = words[::2], words[1::2]
    unnamed = any(name in (">", "~", "<") for name in names)
    if unnamed or not signs or len(names) != len(signs) + 1 or set(signs) - {">", "~"}:
        raise UnclearClaim(f'{text!r} is not of the form "a > b" or "a ~ b"; {QUOTING}')
    read = [_read(name) for name in names]
    found = tuple(Ordering(a, sign == "~", b) for a, sign, b in zip(read, signs, read[1:], strict=False))
    same = next((each for each in found if each.first == each.second), None)
    if same is not None:
        raise UnclearClaim(f"{text!r} compares {same.first} with itself")
    return found


def unknown_names(claim: Claim, arms: Iterable[str], metrics: Iterable[str]) -> list[str]:
    """Return what is wrong with the names in a claim: arms and metrics that are not there."""
    known_metrics = list(metrics)
    wrong = []
    if claim.metric.partition(":")[0] not in known_metrics:
        hint = did_you_mean(claim.metric, known_metrics)
        wrong.append(f"{claim.metric!r} is not measured here. Allowed: {', '.join(known_metrics)}.{hint}")
    return [*wrong, *unknown_arms((claim.first, claim.second), arms)]


def unknown_arms(names: Iterable[str], arms: Iterable[str]) -> list[str]:
    """Return a message for every name that no arm has."""
    known = list(arms)
    told = ", ".join(sorted(known))
    return [
        f"{name!r} is not an arm. Allowed: {told}.{did_you_mean(name, known)}" for name in names if name not in known
    ]


def _words(text: str) -> Iterator[str]:
    place = 0
    while text[place:].strip():
        found = WORD.match(text, place)
        if found is None:
            raise UnclearClaim(f"{text!r}: a quote is not closed, or something stands close behind it; {QUOTING}")
        yield found[1]
        place = found.end()


def _read(name: str) -> str:
    stripped = name.strip()
    return re.sub(r"\\(.)", r"\1", stripped[1:-1]) if stripped[:1] in ("'", '"') else stripped


def _written(name: str, bare: str) -> str:
    if re.fullmatch(bare, name) and name == name.strip():
        return name
    return '"' + re.sub(r'(["\\])', r"\\\1", name) + '"'
