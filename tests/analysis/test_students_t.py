"""The closed form agrees with scipy's for every number of seeds that a table could have."""

import pytest
from scipy import stats

from analysis.students_t import central_share, two_sided_quantile


@pytest.mark.parametrize("share", [0.5, 0.9, 0.95, 0.999])
def test_quantiles_are_those_of_scipy(share: float) -> None:
    for degrees in [*range(1, 60), 99, 250, 1001]:
        assert two_sided_quantile(share, degrees) == pytest.approx(stats.t.ppf((1 + share) / 2, degrees), rel=1e-10)


def test_shares_are_those_of_scipy() -> None:
    for degrees in range(1, 40):
        for t in (0.0, 0.3, 1.0, 2.5, 12.0):
            assert central_share(t, degrees) == pytest.approx(1 - 2 * stats.t.sf(t, degrees), abs=1e-12)
