"""Claims: what an experiment says beforehand of two arms, to be judged by its results. Pure.

`score(a) > score(b) by 0.1`, `held_out_loss(a) < held_out_loss(b)`, `score(a) ~ score(b) within 0.5`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from runners.loading.mistakes import did_you_mean

SIDE = r"(?P<{metric}>[^\s()]+)\((?P<{arm}>[^()]+)\)"
FORM = re.compile(
    rf"\s*{SIDE.format(metric='metric', arm='first')}\s*(?P<sign>[<>~])\s*"
    rf"{SIDE.format(metric='other_metric', arm='second')}\s*"
    r"((?P<word>by|within)\s+(?P<size>\d+\.?\d*([eE][-+]?\d+)?|\.\d+)\s*)?"
)
EXAMPLE = "score(a) > score(b) by 0.1, held_out_loss(a) < held_out_loss(b) or score(a) ~ score(b) within 0.5"


class Sign(StrEnum):
    """How a claim orders two values."""

    ABOVE = ">"
    BELOW = "<"
    LEVEL = "~"


class UnclearClaim(ValueError):
    """A text that is no claim; the message says why."""


@dataclass(frozen=True)
class Claim:
    """`metric` of one arm against that of another: above or below by more than `size`, or level within it."""

    metric: str
    first: str
    sign: Sign
    second: str
    size: float

    @property
    def bounds(self) -> tuple[float, float]:
        """Between which values the difference, first minus second, lies if the claim is true."""
        infinity = float("inf")
        return {
            Sign.ABOVE: (self.size, infinity),
            Sign.BELOW: (-infinity, -self.size),
            Sign.LEVEL: (-self.size, self.size),
        }[self.sign]


def parse_claim(text: str) -> Claim:
    """Return what a text claims. Raises UnclearClaim."""
    found = FORM.fullmatch(text)
    if found is None:
        raise UnclearClaim(f"{text!r} is not a claim; write {EXAMPLE}")
    sign, word, metric = Sign(found["sign"]), found["word"], found["metric"]
    if found["other_metric"] != metric:
        raise UnclearClaim(f"{text!r} compares {metric} with {found['other_metric']}; both sides must be one metric")
    if word != ("within" if sign is Sign.LEVEL else "by") and (word or sign is Sign.LEVEL):
        needed = "~ needs `within` and a size" if sign is Sign.LEVEL else f"{sign} takes `by` and a size, or nothing"
        raise UnclearClaim(f"{text!r}: {needed}")
    size = float(found["size"] or 0)
    if word and size == 0:
        raise UnclearClaim(f"{text!r}: the size must be more than 0")
    first, second = found["first"].strip(), found["second"].strip()
    if first == second:
        raise UnclearClaim(f"{text!r} compares {first} with itself")
    return Claim(metric, first, sign, second, size)


def unknown_names(claim: Claim, arms: Iterable[str], metrics: Iterable[str]) -> list[str]:
    """Return what is wrong with the names in a claim: arms and metrics that are not there."""
    known_arms, known_metrics = list(arms), list(metrics)
    wrong = []
    if claim.metric.partition(":")[0] not in known_metrics:
        hint = did_you_mean(claim.metric, known_metrics)
        wrong.append(f"{claim.metric!r} is not measured here. Allowed: {', '.join(known_metrics)}.{hint}")
    told = ", ".join(sorted(known_arms))
    for arm in (claim.first, claim.second):
        if arm not in known_arms:
            wrong.append(f"{arm!r} is not an arm. Allowed: {told}.{did_you_mean(arm, known_arms)}")
    return wrong
