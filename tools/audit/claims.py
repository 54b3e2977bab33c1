"""Claims of an experiment and orderings of its paper, corrected as one family; the page of papers' claims.

A claim says that a difference lies between two bounds. It is supported where "outside" is rejected, contradicted
where "inside" is: Holm's correction over each, together at 5%.
"""

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import integrate, stats

from tools.audit.compare import Comparison, compare
from tools.audit.inference import ALPHA, Estimate, holm
from tools.audit.rows import LOSS, Row, Study

CLAIM = re.compile(r"(\S+?)\((.+)\) ([<>~]) (\S+?)\((.+)\)(?: (?:by|within) (\S+))?")
NUMBER = re.compile(r"[+−]?\d+(?:\.\d+)?")
SUPPORTED, CONTRADICTED, OPEN = "as stated here", "opposite here", "open here"
FEWEST_POWER = 0.5
NOT_TESTED = "not testable at this size"
SHOWN = ("n", "delta", "low", "high", "verdict")  # what the page has of a claim


class Claim(NamedTuple):
    """The difference of two arms on a metric lies below, above or within a size."""

    metric: str
    first: str
    sign: str
    second: str
    size: float = 0.0

    @property
    def bounds(self) -> tuple[float, float]:
        """Where the difference lies if the claim is true."""
        inner = {"~": (-self.size, self.size), "<": (-math.inf, -self.size), ">": (self.size, math.inf)}
        return inner[self.sign]

    def text(self, side: str) -> str:
        """Return the claim as tables write it, given the form of a side."""
        first, second = (side.format(metric=self.metric, arm=arm) for arm in (self.first, self.second))
        size = f" {'within' if self.sign == '~' else 'by'} {self.size:g}" if self.size else ""
        return f"{first} {self.sign} {second}{size}"


def claims_of(study: Study, texts: Sequence[str]) -> list[Claim]:
    """Return the claims that texts state."""
    found = (CLAIM.findall(text)[0] for text in texts)
    return [Claim(study.on_single_task(m), one, sign, two, float(by or 0)) for m, one, sign, _, two, by in found]


def stated(study: Study) -> list[tuple[str, Claim]]:
    """Return by source the claims of the experiment, and the paper's orderings on its metrics or the headlines."""
    found = [("experiment", claim) for claim in claims_of(study, study.document.get("claims", []))]
    margins = study.margins(study.paper.get("margins", {}))
    metrics = [study.on_single_task(name) for name in study.paper.get("metrics", [])] or study.headlines
    for arms in (ordering.split(" ") for ordering in study.paper.get("orderings", [])):
        for first, sign, second in zip(arms[::2], arms[1::2], arms[2::2], strict=False):
            for metric in metrics:
                directed = "~" if sign == "~" else "<" if metric == LOSS else ">"
                size = margins.get(metric, 0.0) if sign == "~" else 0.0
                found.append(("paper", Claim(metric, first, directed, second, size)))
    return found


def judged(study: Study, claims: Sequence[Claim]) -> dict[Claim, Row]:
    """Return the rows of the claims of one family; a claim that is stated twice is one test."""
    found, p_values = {}, []
    for claim in dict.fromkeys(claims):
        each, (at_least, at_most) = study.difference(claim.metric, claim.first, claim.second), claim.bounds
        row = {"metric": claim.metric, **each.columns}
        outside = row["high"] < at_least or row["low"] > at_most
        row["pointwise"] = _verdict(at_least <= row["low"] <= row["high"] <= at_most, outside)
        untestable = claim.metric.split(":")[0] in study.below or study.few_learners([claim.first, claim.second])
        if untestable or (claim.sign == "~" and power_within(each, claim.size) < FEWEST_POWER):
            each, row["pointwise"] = Estimate(), NOT_TESTED
        (above_low, below_low), (above_high, below_high) = map(each.tails, claim.bounds)
        p_values.append((max(above_low, below_high), min(above_low + above_high, below_low + below_high)))
        found[claim] = row
    supported, contradicted = (np.minimum(1.0, 2 * holm(side)[0]) for side in np.reshape(p_values, (-1, 2)).T)
    for row, of, against in zip(found.values(), supported, contradicted, strict=True):
        verdict = NOT_TESTED if row["pointwise"] == NOT_TESTED else _verdict(of <= ALPHA, against <= ALPHA)
        row |= {"p_supported": of, "p_contradicted": against, "verdict": verdict}
    return found


def power_within(found: Estimate, size: float) -> float:
    """Return the probability that the 95% interval lies within a size of 0 if the true difference is 0."""
    if not found.error > 0:
        return 1.0  # without a spread nothing is tested, whatever the size
    quantile, width = stats.t.isf(ALPHA / 2, found.degrees), size / found.error

    def at(spread: float) -> float:
        density = 2 * spread * found.degrees * stats.chi2.pdf(found.degrees * spread**2, found.degrees)
        return float(density * (2 * stats.norm.cdf(width - quantile * spread) - 1))

    return float(integrate.quad(at, 0.0, width / quantile)[0])


def _verdict(supported: bool, contradicted: bool) -> str:
    return SUPPORTED if supported else CONTRADICTED if contradicted else OPEN


def claims(study: Study) -> list[Row]:
    """Return every claim with its verdict."""
    sources = stated(study)
    rows = judged(study, [claim for _, claim in sources])
    return [{"claim": claim.text("{metric}({arm})"), "by": by, **rows[claim]} for by, claim in sources]


def compare_page(folder: Path, studies: Mapping[str, Study]) -> Comparison:
    """Compare the page of papers' claims, where it is on the studies, with the tests that `claims.toml` names."""
    shown = [*_page_rows((folder / "claims.md").read_text(encoding="utf-8"))]
    published = [row for row in shown if row["experiment"].replace(" ", "-") in studies]
    tests = _page_tests(tomllib.loads((folder / "claims.toml").read_text(encoding="utf-8"))["claims"], studies)
    found = compare("claims.md", ("claim", "experiment", "metric", "test"), published, tests)
    others = {f"rows on {row['experiment']}" for row in shown if row not in published}
    return found._replace(skipped=[*found.skipped, *others])


def _page_tests(listed: Sequence[Row], studies: Mapping[str, Study]) -> Iterator[Row]:
    """Yield the tests on studies; one that its experiment did not declare is in a family with the others listed."""
    tests = [(each["id"], by, scale) for each in listed for by in each.get("tested_by", []) for scale in by["scales"]]
    for claim_id, by, scale in tests:
        if study := studies.get(f"{by['experiment']}-{scale}"):
            named, declared = claims_of(study, by["claims"]), [claim for _, claim in stated(study)]
            rows = judged(study, [*declared, *named]) | judged(study, declared)
            for claim in (each for each in named if {each.first, each.second} <= study.arms.keys()):
                key = {"claim": claim_id, "experiment": f"{by['experiment']} {scale}", "test": claim.text("{arm}")}
                shown = {name: rows[claim][name] for name in SHOWN}
                if not math.isnan(shown["low"]):  # the page has none of fewer than two seeds that learned
                    yield {**key, "metric": claim.metric, **shown}


def _page_rows(text: str) -> Iterator[Row]:
    """Yield the rows that have an interval, its numbers in cells of their own."""
    header: list[str] = []
    for line in re.sub(r"\\(.)", r"\1", text).splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip("|").split(" | ")]
        header = cells if cells[0] == "claim" else header
        row = dict(zip(header, cells, strict=False))
        numbers = [cell.replace("−", "-").lstrip("+") for cell in NUMBER.findall(row.pop("Δ [95%]", ""))]
        if len(numbers) == 3:
            yield {**row, **dict(zip(SHOWN[1:], numbers, strict=False)), "verdict": row["verdict"].partition(";")[0]}
