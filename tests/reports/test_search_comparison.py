"""Comparisons of searches: the finding says what the table of differences shows."""

import pytest

from reports.search_comparison import finding
from reports.statistics.search_comparison import ComparedSearch, SearchComparison
from steeplechase.analysis.search_trace import SearchTrace, Training


def searches(first: list[float], second: list[float]) -> SearchComparison:
    """Return two searches by the final losses of what they chose, at the seeds 0, 1, 2, …"""
    return SearchComparison(
        tuple(
            ComparedSearch(
                name,
                tuple(
                    SearchTrace(seed, (Training(f"c{seed}", 1.0, loss, True, 1e6),), loss, 0)
                    for seed, loss in enumerate(losses)
                ),
                "a table",
            )
            for name, losses in (("one", first), ("two", second))
        )
    )


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ([4.0], [4.1], "without an interval, at one search seed (Δ +0.100 [?], n = 1)"),
        ([4.0, 4.2, 4.1], [4.0, 4.2, 4.1], "since it does not vary over search seeds (Δ 0.00 [?], n = 3)"),
        ([4.0, 4.2, 4.1], [4.5, 4.7, 4.6], "since it does not vary over search seeds (Δ +0.50 [?], n = 3)"),
        ([4.0, 4.2, 4.1], [3.0, 3.3, 3.2], "final loss of the chosen candidate lower (Δ −0.93 ["),
        ([4.0, 4.2, 4.1], [4.1, 4.1, 4.3], "final loss of the chosen candidate not significantly different ("),
    ],
)
def test_the_finding_says_why_there_is_no_interval(first: list[float], second: list[float], words: str) -> None:
    assert words in finding(searches(first, second))
