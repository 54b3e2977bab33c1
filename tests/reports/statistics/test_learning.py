"""Seeds on their plateau have no part in means; a claim on an arm that has not begun to learn is not tested."""

import pytest

from reports.statistics.claims import ClaimOutcome, judged_claims
from reports.statistics.learning import Learning
from reports.statistics.results import Results, results_of
from tests.factories.reports import Trial, document, primary, snapshot


def results(stays: set[int], monkeypatch: pytest.MonkeyPatch) -> Results:
    """Return three seeds of two arms; the other arm's seeds of `stays` end at 9 nats, on their plateau."""
    trials = [
        Trial(arm, seed).pretrained(9.0 if arm == "other" and seed in stays else 5.0 + 0.01 * seed)
        for arm in ("baseline", "other")
        for seed in (1, 2, 3)
    ]
    exits = {seed: None if seed in stays else 1e5 * seed for seed in (1, 2, 3)}
    monkeypatch.setattr("reports.statistics.results.learning_of", lambda _: {"other": Learning(exits, 9.0)})
    resolved = document(claims=["held_out_loss(other) > held_out_loss(baseline)"])
    arms = {"baseline": {}, "other": {"width": 512}}
    return results_of(snapshot(trials, arms, resolved=resolved), primary)


@pytest.mark.parametrize(("stays", "left"), [(set(), 3), ({3}, 2), ({1, 2}, 1), ({1, 2, 3}, 0)])
def test_means_are_of_the_seeds_that_left(stays: set[int], left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every value is kept, those of learners are compared, and fewer than two of them are not."""
    found = results(stays, monkeypatch)
    assert len(found.values["other"].get("held_out_loss", {})) == found.learning["other"].left == left
    assert len(found.measured_values["other"]["held_out_loss"]) == 3
    (claim,) = judged_claims(found)
    assert (claim.outcome is ClaimOutcome.NOT_TESTED) == (left < 2)
