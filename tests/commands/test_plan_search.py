"""What `plan` says of a search: how many arms there may be at most, and what becomes of repeats."""

import pytest

from tests.factories.command_calls import ROOT, Call

SEARCH = ROOT / "experiments" / "search.yaml"


@pytest.mark.parametrize(
    ("scale", "arms", "repeats"),
    [
        ("smoke", "at most 8 arms (the baseline and up to 7 candidates over ", "drawn again; no seed is added"),
        ("laptop", "at most 24 arms (the baseline and up to 23 candidates over ", "at a further seed, up to 3 seeds"),
    ],
)
def test_the_count_of_arms_and_the_seeds_of_repeats_are_stated(
    call: Call, scale: str, arms: str, repeats: str
) -> None:
    shown = " ".join(call("plan", SEARCH, "--scale", scale).out.split())
    assert arms in shown
    assert repeats in shown
