"""Numbers of the stories about kernel sizes: each is computed from rows."""

from collections.abc import Iterator
from math import sqrt
from statistics import fmean, stdev

import pytest

from reports.statistics.compared_pairs import compared_pairs
from tests.reports.story_values import (
    LOSS,
    differences,
    late_batches,
    missing_from,
    report,
    signed,
    span,
    story,
    values,
)

scipy_stats = pytest.importorskip("scipy.stats", reason="the independent statistics are scipy's")


def kernel_laptop() -> Iterator[str]:
    name = "kernel_size-laptop"
    yield f"at {span(values(name, 'kernel_size=1,depth=4'), 2)} nats"
    yield f"better than 1 by {fmean(values(name, 'kernel_size=1')) - fmean(values(name, 'kernel_size=3')):.3f} nats"
    yield f"means of {span([fmean(values(name, f'kernel_size={size}')) for size in (3, 5, 9, 13, 17)], 3)} nats"
    for depth in ("", ",depth=4"):
        (pair,) = compared_pairs(report(name), [f"kernel_size={size}{depth}" for size in (33, 9)], [LOSS])
        assert pair.difference.delta is not None
        assert pair.p is not None
        assert pair.p_adjusted is not None
        yield f"{pair.difference.delta:.3f}"
        yield f"(p {pair.p:.3f}, and {pair.p_adjusted:.2f}"
        yield f"Holm's correction over all {pair.family} pairs of arms"
    gains = [
        fmean(values(name, arm.name, "score")) - fmean(values(name, "baseline", "score"))
        for arm in report(name).arms
        if "kernel" in arm.name and "=1," not in f"{arm.name},"
    ]
    yield f"is {span(gains, 1)} points above the baseline"
    former = stdev(values(name, "baseline")[:3])
    yield f"(sd {former:.1f} nats)"


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
    yield f"Welch's interval, three seeds of the arms on 16 tokens and five of those on 32, {bounds}"
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
    "The kernel size at two depths": kernel_laptop,
    "The kernel size on half": kernel_short,
    "The kernel size at scale `wikipedia`": kernel_wikipedia,
}


@pytest.mark.parametrize("start", STORIES)
def test_numbers_of_a_story_follow_from_its_rows(start: str) -> None:
    assert missing_from(start, STORIES[start]()) == []


def test_the_front_pages_caveat_has_the_evaluation_sets_error() -> None:
    errors = [error for _, error in late_batches("kernel_size-wikipedia", "kernel_size=17", "kernel_size=9", 4096)]
    assert f"the sampling error of these, {span(errors, 3)} nats for one seed's pair" in story("README")
