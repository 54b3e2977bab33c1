"""Numbers of the stories about kernel sizes: each is computed from rows."""

from collections.abc import Iterator
from math import sqrt
from statistics import fmean, stdev

import pytest

from tests.reports.story_values import differences, late_batches, missing_from, report, signed, span, story, values

scipy_stats = pytest.importorskip("scipy.stats", reason="the independent statistics are scipy's")


def holm(p: list[float]) -> list[float]:
    """Return the p values after Holm's correction in increasing order."""
    found, highest = [], 0.0
    for rank, each in enumerate(sorted(p)):
        highest = max(highest, min(1.0, each * (len(p) - rank)))
        found.append(highest)
    return found


def kernel_laptop() -> Iterator[str]:
    name = "kernel_size-laptop"
    means = [fmean(values(name, f"kernel_size={size}")) for size in (3, 5, 9, 13)]
    yield f"means of {span(means)} nats"
    one, without = fmean(values(name, "kernel_size=1")), fmean(values(name, "baseline"))
    yield f"{one:.2f} nats, the model without a convolution has {without:.2f}"
    others = [arm.name for arm in report(name).arms if arm.name not in ("baseline", "kernel_size=9")]
    p = {arm: welch_p(name, arm, "kernel_size=9") for arm in others}
    position = sorted(p, key=lambda arm: p[arm]).index("kernel_size=33")
    corrected = holm(list(p.values()))[position]
    assert len(p) == 7
    yield f"(p {p['kernel_size=33']:.3f}, and {corrected:.2f} after Holm's correction over the seven sizes"
    answers = values(name, "kernel_size=9", "docs_acceptability")
    yield "three seeds are {:.1f}, {:.1f} and {:.1f}".format(*answers)
    yield f"(sd {stdev(answers):.1f})"


def welch_p(name: str, arm: str, other: str) -> float:
    return float(scipy_stats.ttest_ind(values(name, arm), values(name, other), equal_var=False).pvalue)


def kernel_short() -> Iterator[str]:
    arms = [
        values(f"kernel_size{which}-laptop", f"kernel_size={size}") for which in ("_short", "") for size in (17, 9)
    ]
    delta = sum(sign * fmean(arm) for sign, arm in zip((1, -1, -1, 1), arms, strict=True))
    yield f"differ in it by {delta:.3f} nats"
    terms = [stdev(arm) ** 2 / len(arm) for arm in arms]
    degrees = sum(terms) ** 2 / sum(term**2 / (len(arm) - 1) for term, arm in zip(terms, arms, strict=True))
    half_width = scipy_stats.t.ppf(0.975, degrees) * sqrt(sum(terms))
    bounds = signed(delta - half_width, delta + half_width)
    yield f"Welch's interval, three seeds of each of the four arms, {bounds}"
    shares = [outside(size, length) for size, length in ((17, 16), (33, 32), (17, 32))]
    yield "their share is {:.2f} for 17 on 16 tokens, {:.2f} for 33 on 32 and {:.2f} for 17 on 32".format(*shares)


def outside(kernel_size: int, length: int) -> float:
    """Return the mean share of a kernel's positions outside an input."""
    reach = range(-(kernel_size // 2), kernel_size // 2 + 1)
    return fmean(sum(not 0 <= at + step < length for step in reach) / kernel_size for at in range(length))


def kernel_wikipedia() -> Iterator[str]:
    name = "kernel_size-wikipedia"
    below = [-each for each in differences(name, "kernel_size=17", "kernel_size=9")]
    yield "by {:.3f}, {:.3f} and {:.3f} nats".format(*below)
    yield f"agree within {max(below) - min(below):.3f} nats"
    errors = [error for _, error in late_batches(name, "kernel_size=17", "kernel_size=9", 4096)]
    yield f"is {span(errors, 3)} nats for one seed's pair"
    others = [-mean for mean, _ in late_batches(name, "kernel_size=17", "kernel_size=9", 4096)]
    yield "agree in sign: {:.3f}, {:.3f} and {:.3f} nats".format(*others)
    worse = differences(name, "kernel_size=33", "kernel_size=17")
    yield "worse in every seed, by {:.3f}, {:.3f} and {:.3f}".format(*worse)


STORIES = {
    "The kernel size at scale `laptop`": kernel_laptop,
    "The kernel size on half": kernel_short,
    "The kernel size at scale `wikipedia`": kernel_wikipedia,
}


@pytest.mark.parametrize("start", STORIES)
def test_numbers_of_a_story_follow_from_its_rows(start: str) -> None:
    assert missing_from(start, STORIES[start]()) == []


def test_the_front_pages_caveat_has_the_evaluation_sets_error() -> None:
    errors = [error for _, error in late_batches("kernel_size-wikipedia", "kernel_size=17", "kernel_size=9", 4096)]
    assert f"the sampling error of these, {span(errors, 3)} nats for one seed's pair" in story("README")
