"""Claims of an experiment and orderings of its paper, corrected as one family; the table of papers' claims.

A claim says that a difference lies between two bounds. Supported: "outside" is rejected; contradicted: "inside" is;
Holm's correction over each, together at 5%.
"""

import math
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from scipy import stats

from tools.audit.exports import LOSS, Row
from tools.audit.families import holm
from tools.audit.inference import ALPHA, Estimate, power, power_within
from tools.audit.rule import Published, Rule
from tools.audit.study import Study
from tools.audit.verdicts import TEXT

NOT_TESTED = "not tested"

SIDE = (
    r"(?P<{metric}>[^\s()]+)\(\s*(?P<{arm}>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[^()]+(?:\([^()]*\)[^()]*)*)\s*\)"
)
CLAIM = re.compile(
    rf"{SIDE.format(metric='metric', arm='first')}\s*(?P<sign>[<>~])\s*{SIDE.format(metric='same', arm='second')}"
    r"(?:\s+(?:by|within)\s+(?P<size>\S+))?\s*"
)
TOKEN = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\S+")


@dataclass(frozen=True)
class Claim:
    """The difference of two arms on a metric lies above, below or within a size."""

    metric: str
    first: str
    sign: str
    second: str
    size: float

    @property
    def bounds(self) -> tuple[float, float]:
        """Where the difference lies if the claim is true."""
        if self.sign == "~":
            return -self.size, self.size
        return (self.size, math.inf) if self.sign == ">" else (-math.inf, -self.size)

    def __str__(self) -> str:
        """Return the claim as reports write it."""
        word = "within" if self.sign == "~" else "by"
        size = f"{self.size:g}" if float(f"{self.size:g}") == self.size else repr(self.size)
        sides = f"{self.metric}({self.first}) {self.sign} {self.metric}({self.second})"
        return f"{sides} {word} {size}" if self.size else sides


def claim_of(text: str) -> Claim:
    """Return the claim that a text states. Raises ValueError for another text."""
    found = CLAIM.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not a claim")
    return Claim(
        found["metric"], _name(found["first"]), found["sign"], _name(found["second"]), float(found["size"] or 0)
    )


def short(claim: Claim) -> str:
    """Return a claim without its metric, as the table of papers' claims has it."""
    word = "within" if claim.sign == "~" else "by"
    return f"{claim.first} {claim.sign} {claim.second}{f' {word} {claim.size:g}' if claim.size else ''}"


def _name(text: str) -> str:
    stripped = text.strip()
    return re.sub(r"\\(.)", r"\1", stripped[1:-1]) if stripped[:1] in ("'", '"') else stripped


def stated(study: Study) -> list[tuple[str, Claim]]:
    """Return the claims of the experiment, then the paper's orderings on the metrics it names or the headlines."""
    found = [("experiment", of_single_task(study, text)) for text in study.document.get("claims", [])]
    paper = study.document.get("paper") or {}
    of_paper = [study.in_place_of_score(name) for name in paper.get("metrics", [])]
    for chain in paper.get("orderings", []):
        tokens = TOKEN.findall(chain)
        names, signs = [_name(name) for name in tokens[::2]], tokens[1::2]
        for first, sign, second in zip(names, signs, names[1:], strict=False):
            for metric in dict.fromkeys(of_paper or study.headlines):
                size = study.paper_margins.get(metric, 0.0) if sign == "~" else 0.0
                better = "<" if metric == LOSS else ">"
                found.append(("paper", Claim(metric, first, sign if sign == "~" else better, second, size)))
    return found


def of_single_task(study: Study, text: str) -> Claim:
    """Return the claim of a text; one on the score is on the task where there is a single one."""
    claim = claim_of(text)
    return replace(claim, metric=study.in_place_of_score(claim.metric))


@dataclass(frozen=True)
class Tested:
    """A claim with its difference, first minus second, and the one-sided p of both hypotheses."""

    claim: Claim
    found: Estimate
    interval: Row
    alpha: float
    over_seeds: Estimate = field(default_factory=Estimate)
    """The difference over seeds alone; unknown where `found` is."""
    below_reference: bool = False
    """Whether the claim is on a task below a reference, and therefore not tested."""

    @property
    def known(self) -> bool:
        """Whether there is a test."""
        return self.interval["low"] is not None and self.found.known

    @property
    def p_values(self) -> tuple[float | None, float | None]:
        """The p of "outside of what is claimed" and of "inside", divided by the share of alpha at this look."""
        if not self.known:
            return None, None
        low, high = self.claim.bounds
        above = [self.found.p_above(bound) for bound in (low, high)]
        below = [self.found.p_below(bound) for bound in (low, high)]
        share = self.alpha / ALPHA
        return min(1.0, max(above[0], below[1]) / share), min(1.0, min(sum(above), sum(below)) / share)

    @property
    def pointwise(self) -> str:
        """The outcome without correction, from the interval alone."""
        if self.below_reference:
            return NOT_TESTED
        if not self.known:
            return "undecided"
        (at_least, at_most), low, high = self.claim.bounds, self.interval["low"], self.interval["high"]
        inside = at_least <= low and high <= at_most
        if inside and (self.claim.sign == "~" or not low <= 0 <= high):
            return "supported"
        return "contradicted" if high < at_least or low > at_most else "undecided"

    @property
    def probability(self) -> float | None:
        """The claim's probability under a flat prior; none for `~` without a margin."""
        if not self.known or (self.claim.sign == "~" and not self.claim.size):
            return None
        below = [
            stats.t.cdf((at - self.found.value) / self.found.error, self.found.degrees) for at in self.claim.bounds
        ]
        return float(below[1] - below[0])

    @property
    def power(self) -> float | None:
        """The chance to support a claim of this size; for `~`, if the true difference is 0."""
        if not self.known or not self.claim.size:
            return None
        size = self.claim.size / self.found.error
        if self.claim.sign == "~":
            return power_within(-size, size, self.found.degrees, self.alpha)
        return power(size, self.found.degrees, self.alpha)


def tested(study: Study, claim: Claim) -> Tested:
    """Return the test of a claim."""
    arms = (claim.first, claim.second)
    if not set(arms) <= set(study.arms):
        return Tested(claim, Estimate(), _nothing(), ALPHA * study.share(""))
    found = study.difference(*arms, claim.metric)
    over_seeds = study.over_seeds({claim.first: 1.0, claim.second: -1.0}, claim.metric)
    interval, alpha = study.interval(found, *arms), ALPHA * study.share(*arms)
    if claim.metric.split(":")[0] in study.below_reference:
        return Tested(claim, Estimate(), interval, alpha, below_reference=True)
    return Tested(claim, found, interval, alpha, over_seeds)


def _nothing() -> Row:
    return {"n": 0, "delta": None, "low": None, "high": None}


def judged(tests: Sequence[Tested]) -> list[tuple[str, float | None, float | None]]:
    """Return the verdict and both p of every claim of a family; a claim stated twice is one test."""
    family = list({(str(one.claim), one.interval["delta"]): one for one in tests})
    by_key = {(str(one.claim), one.interval["delta"]): one for one in tests}
    sides = [holm([by_key[key].p_values[side] for key in family]) for side in (0, 1)]
    found = {}
    for key, outside, inside in zip(family, *sides, strict=True):
        supported, contradicted = (None if p is None else min(1.0, 2 * p) for p in (outside, inside))
        verdict = "contradicted" if contradicted is not None and contradicted <= ALPHA else "undecided"
        verdict = "supported" if supported is not None and supported <= ALPHA else verdict
        found[key] = (NOT_TESTED if by_key[key].below_reference else verdict, supported, contradicted)
    return [found[str(one.claim), one.interval["delta"]] for one in tests]


def claims(study: Study, _: Published) -> Iterator[Row]:
    """Yield every claim with its verdict."""
    sources = stated(study)
    tests = [tested(study, claim) for _, claim in sources]
    for (by, claim), one, (verdict, supported, contradicted) in zip(sources, tests, judged(tests), strict=True):
        yield {
            "claim": str(claim),
            "by": by,
            "metric": claim.metric,
            "verdict": verdict,
            "pointwise": one.pointwise,
            "p_supported": supported,
            "p_contradicted": contradicted,
            "probability": one.probability,
            "power": one.power,
            **one.interval,
        }


RULES = {
    "claims": Rule(("claim", "by"), claims, {"afterwards": TEXT, "departure": TEXT}),
}


@dataclass(frozen=True)
class PaperTest:
    """A claim of a paper with its published row: the experiment at a scale, and the claim tested there."""

    paper_claim: str
    experiment: str
    scale: str
    text: str
    declared: tuple[str, ...]
    """All claims of the table on this experiment, which are added to its family."""


def paper_tests(folder: Path) -> Iterator[PaperTest]:
    """Yield the tests that `claims.toml` names, in its order."""
    document = tomllib.loads((folder / "claims.toml").read_text(encoding="utf-8"))
    for claim in document["claims"]:
        for by in claim.get("tested_by", []):
            for scale in by["scales"]:
                for text in by["claims"]:
                    yield PaperTest(claim["id"], by["experiment"], scale, text, tuple(by["claims"]))


@dataclass(frozen=True)
class PaperVerdict:
    """A test of the table of papers' claims within its family."""

    tested: Tested
    verdict: str
    declared: bool
    """Whether the experiment declared the claim before its run."""
    family: int
    """Number of different claims that are corrected for each other."""


def verdict_of(study: Study, test: PaperTest, of_study: Sequence[Study]) -> PaperVerdict:
    """Return a test of the table with its verdict.

    A claim that the experiment declared is judged among its declared ones, another one with those of the table added.
    """
    family = [tested(each, claim) for each in (study, *of_study) for _, claim in stated(each)]
    names = {str(claim) for _, claim in stated(study)}
    claim = claim_of(test.text)
    declared = str(claim) in names
    if not declared:
        family += [tested(study, each) for each in map(claim_of, test.declared) if str(each) not in names]
    found = next(one for one, each in zip(judged(family), family, strict=True) if str(each.claim) == str(claim))
    size = max(1, len({(str(one.claim), one.interval["delta"]) for one in family if one.known}))
    return PaperVerdict(tested(study, claim), found[0], declared, size)
