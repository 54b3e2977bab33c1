"""Aligned readings: copies that only start later have no gap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.alignment import Progress, Run, aligned, by_tokens

END = 1_000_000


def shifted(event: float, points: int = 200) -> dict[int, float]:
    """Return a curve that depends on the tokens since its event alone."""
    at = np.linspace(END / points, END, points)
    return {round(t): float(3 + 2 / (1 + max(t - event, 0) / 1e5)) for t in at}


@given(st.floats(0, 0.7), st.floats(0, 0.7))
def test_a_later_start_alone_leaves_no_gap_at_equal_tokens(first: float, second: float) -> None:
    runs = [Run(shifted(share * END), share * END, by_tokens(float(END))) for share in (first, second)]
    losses = aligned(*runs)
    assert losses is not None
    assert losses[0] == pytest.approx(losses[1], abs=0.02)


def test_equal_integrals_of_the_rate_are_those_of_the_schedule() -> None:
    at = np.linspace(0, END, 4001)
    progress = Progress(at, at - at**2 / (2 * END))
    early, late = (Run(shifted(event), event, progress) for event in (0.0, END / 2))
    assert late.since == pytest.approx(END / 8)
    tokens = END * (1 - 0.75**0.5)  # where the whole integral up to there is an eighth
    assert early.read(late.since) == pytest.approx(3 + 2 / (1 + tokens / 1e5), abs=0.02)


def test_nothing_is_read_beyond_a_curve() -> None:
    ends = Run(shifted(0.0), float(END), by_tokens(float(END)))
    assert aligned(ends, ends) is None
    late = {END // 2: 4.0, END: 3.0}
    assert aligned(Run(late, 0.0, by_tokens(float(END))), Run(shifted(0.9 * END), 0.9 * END, by_tokens(END))) is None
