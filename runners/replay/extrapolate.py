"""Freeze-thaw that asks curves and configurations, insured by controls: the policy that is recommended.

Two arms share the budget. The *promising* arm spends half on first looks at candidates that an additive Gaussian
process over configurations ranks best, and half on carrying on whoever the curve model sees ending best. The
*control* arm is insurance against curves that cross: after the first looks it trains one that looked badly, at least
as far as a tenth of the budget pays, further while the most hopeful reading of its curve may still win. If a control
ends clearly below all that the promising have shown, beginnings are trusted no more. Controls are whole trainings
then, chosen by what ends have taught, and the promising arm too trains its leaders to their ends, so that little is
lost to random search. Where the promising have outdone the controls, a tenth of the budget is all that they cost.

After Swersky et al. 2014, Freeze-Thaw Bayesian Optimization, arXiv 1406.3896; the control arm is our own. Every
constant was set on made-up curves, small trainings of our own and one TaskSet task, as docs/replay.md tells.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from runners.replay import final_score_gp as architecture
from runners.replay import final_value_gp as ends
from runners.replay.candidate_choice import FEW, Proposer
from runners.replay.candidate_state import CandidateState
from runners.replay.crossing_odds import Trust
from runners.replay.optimistic_bound import may_still_win
from runners.replay.simulation import Action, Numbers, View

Places = NDArray[np.int64]

LOOKS = 0.5  # share of the promising arm that goes to first looks
GROWTH = 1.25  # a candidate that is carried on trains to so many times its points
FEWEST = 3  # candidates that are looked at before anything else, however small the budget
FIRST_LOOKS = 0.1  # of the budget: no more before the first control
INSURANCE = 0.1  # share of the budget that goes to controls while none has won
UNPROVEN, FROM = 0.2, 5.0  # that share once so many trainings are spent and the promising are not clearly ahead
CLEARLY = 2.5  # spreads of first looks that the promising must end ahead of the controls
LOOKED_BADLY = (0.8, 1.0)  # quantiles of first looks that the first two controls come from
LOOKED_WORSE = 0.2  # a win tells something if at least this share had looked better
FOLLOW_ONE = 0.3  # of the budget: spent without a finished candidate, the leader is carried through to its end
STOCK = 8  # candidates with a first look that whole trainings are chosen from where curves cross


def moves(view: View, chance: np.random.Generator) -> Iterator[Action]:
    """Look, carry on, control; where there are no curves but final scores alone, the predictor of architectures."""
    if len(view.costs) == 1:
        yield from architecture.moves(view, chance)
        return
    search = Search(view, chance)
    while (move := search.next_move()) is not None:
        yield move
        search.learn(move)


class Search:
    """What the policy remembers between moves; all of it follows from what was observed and the seed."""

    def __init__(self, view: View, chance: np.random.Generator) -> None:
        self.view, self.budget = view, view.remaining
        self.status = CandidateState(view)
        self.proposer = Proposer(view.features, chance)
        self.trust = Trust()
        self.spent = {"looks": 0.0, "promising": 0.0, "control": 0.0}
        self.arm = "promising"
        self.control: int | None = None
        self.controls: list[int] = []
        self.best_promising, self.best_control = np.inf, np.inf
        self.ends_of_promising: list[float] = []
        self.leader: int | None = None

    def next_move(self) -> Action | None:
        """Return the next move of the arm whose turn it is; None where nothing is left to train."""
        if self.trust.lost and (leader := self._open_leader()) is not None:
            return self._go(leader, "promising")
        if self._turn_of_control() and (control := self._next_control()) is not None:
            return self._go(control, "control")
        best = int(np.argmin(self.status.open_promise))
        any_open = bool(np.isfinite(self.status.open_promise[best]))
        fresh = self.status.fresh
        if fresh is not None and self._wants_a_look(any_open):
            return self._go(self.proposer.propose(self.status.promise, fresh), "promising")
        return self._go(self._followed(best), "promising") if any_open else None

    def learn(self, move: Action) -> None:
        """Take in what the move has shown."""
        seen, done = self.status.take_in(move.candidate)
        lowest = float(seen.min())
        if move.candidate == self.control:
            if not self._has_patience(move.candidate, seen, done):
                self.control = None
                self._end_control(move.candidate, lowest, done)
        elif self.arm == "promising":
            self.best_promising = min(self.best_promising, lowest)
            if done:
                self.ends_of_promising.append(lowest)
                margin = self.status.spread_of_looks()
                self.trust.promising_ended(lowest < self.best_control, self.best_control < lowest - margin)

    def _end_control(self, candidate: int, lowest: float, done: bool) -> None:
        self.controls.append(candidate)
        if not done:
            return
        standing, others = self.status, self.status.started[self.status.started != candidate]
        looked_better = float(np.mean(standing.looks[standing.started] < standing.looks[candidate]))
        self.trust.control_ended(
            wins=lowest < self.best_promising - standing.spread_of_looks(),
            looked_worse=looked_better >= LOOKED_WORSE,
            below_forecasts=lowest < standing.promise[others].min(initial=np.inf),
        )
        self.best_control = min(self.best_control, lowest)

    def _has_patience(self, candidate: int, seen: Numbers, done: bool) -> bool:
        """Return whether a control goes on: as far as the insurance pays, and while it may win."""
        if done or not np.isfinite(seen[-1]):
            return False
        paid = self.status.costs[len(seen)] < min(1.0, INSURANCE * self.budget) - 1e-9
        hopeful = may_still_win(self.view, candidate, self.status.started, self.status.best_seen)
        return bool(paid or self.trust.crossing or hopeful)

    def _turn_of_control(self) -> bool:
        if self._first_looks():
            return False
        spent = self.spent["promising"] + self.spent["control"]
        if not self.trust.crossing:
            share = INSURANCE if spent < FROM or self._proven() else UNPROVEN
            return self.control is not None or not self.controls or self.spent["control"] < share * spent
        under_way = self.control is not None and self.trust.lost
        return under_way or self.spent["control"] < self.trust.share_of_controls * spent

    def _next_control(self) -> int | None:
        """Return the control under way or a new one; where curves cross, first looks for the stock come before it."""
        if self.control is not None:
            return self.control
        standing, opened = self.status, self.status.opened
        if self.trust.crossing:
            if len(opened) < STOCK and standing.fresh is not None:
                return standing.fresh
            self.control = self._by_ends(opened) if len(opened) else None
        elif len(self.controls) < len(LOOKED_BADLY) and len(opened):
            by_look = opened[standing.looks[opened].argsort(kind="stable")]
            self.control = int(by_look[int(LOOKED_BADLY[len(self.controls)] * (len(by_look) - 1))])
        else:
            self.control = standing.fresh
        return self.control

    def _by_ends(self, opened: Places) -> int:
        finished = self.status.finished
        lowest = self.view.observed[finished[-ends.HISTORY :]].min(axis=1)
        return ends.choose(finished, lowest, opened, self.status.looks, self.view.features)

    def _proven(self) -> bool:
        """Return whether the ends of the promising are clearly ahead of all controls."""
        if not self.ends_of_promising or not self.controls:
            return False
        best = float(self.status.promise[self.controls].min())
        ahead = best - float(np.median(self.ends_of_promising))
        return ahead > CLEARLY * self.status.spread_of_looks()

    def _first_looks(self) -> bool:
        """Return whether the first looks, which are at random, are still to be had."""
        few = self.status.count < FEW and self.status.fresh is not None
        return few and (self.status.count < FEWEST or self.spent["looks"] < FIRST_LOOKS * self.budget - 1e-9)

    def _wants_a_look(self, any_open: bool) -> bool:
        if not any_open or self._first_looks():
            return True
        return not self.trust.lost and self.spent["looks"] < LOOKS * self.spent["promising"]

    def _followed(self, best: int) -> int:
        """Return whom the promising arm carries on: the best, or a leader until it is at its end."""
        any_finished = bool(self.ends_of_promising) or np.isfinite(self.best_control)
        late = not any_finished and self.spent["promising"] > FOLLOW_ONE * self.budget
        if not (late or self.trust.lost):
            return best
        leader = self._open_leader()
        self.leader = best if leader is None else leader
        return self.leader

    def _open_leader(self) -> int | None:
        return self.leader if self.leader is not None and np.isfinite(self.status.open_promise[self.leader]) else None

    def _go(self, candidate: int, arm: str) -> Action:
        """Return the candidate's next move and book its cost."""
        done = int(self.view.reached[candidate])
        points = min(self.status.end, max(done + 1, int(done * GROWTH))) if done else self.status.look
        if not done:
            self.status.start(candidate)
            self.proposer.learn(candidate, self.status.promise)
        elif arm == "promising" and candidate == self.control:
            self.controls.append(candidate)
            self.control = None  # it stands on its own merits now
        cost = float(self.status.costs[points] - self.status.costs[done])
        self.arm = arm
        self.spent[arm] += cost
        self.spent["looks"] += cost if arm == "promising" and not done else 0.0
        return Action(candidate, points)
