"""Claims on searches at equal cost: verdicts follow the values by search seed, paired, corrected as one family."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from reports.claim_row import ClaimRow
from reports.paper_claims_file import SearchTest
from reports.searched_claims import searched_claims
from steeplechase.foundation.errors import ConfigurationError, MachineError

LOWER, HIGHER, LIKE = (
    "chosen_final(a) < chosen_final(b)",
    "chosen_final(b) < chosen_final(a)",
    "best_seen(a) < best_seen(b)",
)


def written(folder: Path, by_search: dict[str, Sequence[float]]) -> None:
    rows = [
        f"{search},{seed},{5.0 + seed % 3},{value},20"
        for search, values in by_search.items()
        for seed, value in enumerate(values)
    ]
    (folder / "tables").mkdir(parents=True)
    (folder / "tables" / "by_seed.csv").write_text(
        "\n".join(["search,seed,best_seen,chosen_final,cost", *rows]) + "\n"
    )


def judge(root: Path, *claims: str) -> list[ClaimRow]:
    tested = SearchTest(folder="space/hurdles", scale="laptop", scope="two models", claims=claims)
    return [*searched_claims([tested], root)]


def test_a_search_that_is_lower_at_every_seed_supports_and_contradicts(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).normal(0, 1, (2, 10))
    first, second = 4 + noise[0], 4.5 + noise[0] + 0.1 * noise[1]
    written(tmp_path / "space/hurdles", {"a": first, "b": second})
    below, above = judge(tmp_path, LOWER, HIGHER)
    assert (below.verdict, above.verdict) == ("as stated here", "opposite here")
    assert (below.experiment, below.metric, below.test, below.n) == (
        "space/hurdles laptop",
        "chosen_final",
        "`a < b`",
        10,
    )
    expected = stats.ttest_rel(first, second).confidence_interval(0.95)
    mean = float(np.mean(first - second))
    assert below.difference == f"{mean:+.3f} [{expected.low:+.3f}, {expected.high:+.3f}]".replace("-", "−")


def test_claims_of_several_comparisons_are_corrected_for_each_other(tmp_path: Path) -> None:
    """A p of 0.03 decides a claim alone, and none of four that are alike."""
    differences = np.random.default_rng(2).normal(0, 1, 12)
    differences = (differences - differences.mean()) / differences.std(ddof=1)
    shift = stats.t.ppf(0.015, 11) / 12**0.5  # two-sided p of 0.03
    searches = {name: np.zeros(12) for name in "bcde"} | {"a": differences + shift}
    written(tmp_path / "space/hurdles", searches)
    (alone,) = judge(tmp_path, LOWER)
    together = judge(tmp_path, *(f"chosen_final(a) < chosen_final({name})" for name in "bcde"))
    assert alone.verdict == "as stated here"
    assert {each.verdict for each in together} == {"open here"}
    assert all("seeds would" in each.caveats[0] for each in together)


def test_equal_searches_have_no_verdict(tmp_path: Path) -> None:
    written(tmp_path / "space/hurdles", {"a": [4.0, 4.1, 4.2], "b": [4.0, 4.1, 4.2]})
    (found,) = judge(tmp_path, LIKE)
    assert (found.verdict, found.detectable) == ("open here", "–")


def test_an_unknown_search_and_a_missing_comparison_are_refused_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(
        MachineError, match=r"by_seed\.csv: no such file; `steeplechase search compare --out` writes it"
    ):
        judge(tmp_path, LOWER)
    written(tmp_path / "space/hurdles", {"a": [4.0, 4.1], "c": [4.0, 4.1]})
    with pytest.raises(ConfigurationError, match="no search b with chosen_final; it has a, c"):
        judge(tmp_path, LOWER)
