"""The ancestors of the best candidate of a search by evolution, and what the hurdles of a search saved."""

from dataclasses import replace

from reports.report import build
from tests.factories.read_reports import rows_of
from tests.factories.reports import TOKENS, Trial, document, search_design, snapshot, trials_of

ARMS = {"baseline": {}, "c1": {"layers": "s f g"}, "c2": {"layers": "g f"}, "c3": {"layers": "s g g"}}
LOSSES = {"baseline": 4.0, "c1": 3.9, "c2": 3.5, "c3": 3.0}
PARENTS = {"c1": "baseline", "c2": "baseline", "c3": "c1"}
ONE_SEED = document(design=search_design(), seeds=[1])


def test_the_ancestors_of_the_best_candidate_are_listed_from_the_baseline_on() -> None:
    plain = snapshot(trials_of({arm: [loss] for arm, loss in LOSSES.items()}), ARMS, resolved=ONE_SEED)
    rows = rows_of(build(replace(plain, parents=PARENTS)), "lineage")
    columns = ("generation", "arm", "parent", "held_out_loss")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        *((0, "baseline", None, 4.0), (1, "c1", "baseline", 3.9), (2, "c3", "c1", 3.0)),
    ]
    assert not rows_of(build(plain), "lineage")


def test_a_hurdle_saves_the_rest_of_the_trainings_that_it_stopped() -> None:
    """Two of three stop at a quarter of the budget and one at a half; none was audited."""
    rungs = (TOKENS // 4, TOKENS // 2, TOKENS)
    trials = [Trial("baseline", 1).pretrained(6.0, rungs[0]).pretrained(5.0, rungs[1]).pretrained(4.0)]
    trials += [Trial(arm, 1).pretrained(7.0, rungs[0]).judged(0, False, 7.0, 6.5) for arm in ("c1", "c2")]
    late = Trial("c3", 1).pretrained(6.0, rungs[0]).judged(0, True, 6.0, 6.5)
    trials.append(late.pretrained(5.5, rungs[1]).judged(1, False, 5.5, 5.0))
    rows = rows_of(build(snapshot(trials, ARMS, resolved=ONE_SEED, rungs=rungs)), "hurdle_savings")
    found = [tuple(row[name] for name in ("hurdle", "tokens", "stopped", "saved")) for row in rows]
    assert found == [(1, rungs[0], 2, 1.5), (2, rungs[1], 1, 0.5)]
