"""Freeze-thaw Bayesian optimisation with a control arm: the recommended policy.

Two arms share the budget. The *promising* arm spends half of its share on first looks at candidates that an additive
Gaussian process over configurations ranks best, and half on continuing the candidate with the best forecast of its
final value. The *control* arm tests whether curves cross: after the first looks it trains a candidate with a bad
first value, at least as far as a tenth of the budget allows, and further while an optimistic bound of its curve may
still be the best. If a control ends clearly below every value of the promising arm, first values are no longer
trusted: controls are then full trainings, chosen by a Gaussian process over final values, and the promising arm
trains its leaders to their ends too, so that regret stays close to that of random search. Where the promising arm has
beaten the controls, these cost no more than a tenth of the budget.

After Swersky et al. 2014, Freeze-Thaw Bayesian Optimization, arXiv 1406.3896; the control arm is an addition. Every
constant was set on synthetic curves, small trainings and one TaskSet task, as docs/replay.md reports.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from runners.replay import final_score_gp, final_value_gp
from runners.replay.candidate_choice import FEWEST_OBSERVED, SurrogateSampler
from runners.replay.candidate_state import CandidateStates
from runners.replay.crossing_odds import CrossingOdds
from runners.replay.optimistic_bound import may_still_be_best
from runners.replay.simulation import Action, Numbers, View

Indices = NDArray[np.int64]

FIRST_LOOK_SHARE = 0.5  # share of the promising arm that goes to first looks
GROWTH_FACTOR = 1.25  # a resumed candidate trains to this multiple of its points
FEWEST_FIRST_LOOKS = 3  # first looks before anything else, however small the budget
RANDOM_LOOK_SHARE = 0.1  # of the budget: random first looks take no more before the first control
CONTROL_SHARE = 0.1  # share of the budget for controls while none has won
UNPROVEN_CONTROL_SHARE = 0.2  # the same while the promising arm is not clearly ahead,
UNPROVEN_AFTER = 5.0  # full trainings spent
CLEAR_LEAD = 2.5  # spreads of first values by which the promising arm must be ahead of the controls
FIRST_CONTROL_QUANTILES = (0.8, 1.0)  # of first values, for the first two controls
LEAST_SURPRISE = 0.2  # a win of a control is evidence if at least this share had better first values
COMMIT_AFTER = 0.3  # of the budget: spent without a finished candidate, the leader is trained to its end
FEWEST_PAUSED = 8  # candidates with a first look to choose full trainings from, if curves cross


def actions(view: View, generator: np.random.Generator) -> Iterator[Action]:
    """Yield first looks, continuations and controls; for final scores without curves, the policy of final scores."""
    if len(view.costs) == 1:
        yield from final_score_gp.actions(view, generator)
        return
    search = Search(view, generator)
    while (action := search.next_action()) is not None:
        yield action
        search.learn(action)


class Search:
    """State of the policy between actions: a function of the observations and the seed."""

    def __init__(self, view: View, generator: np.random.Generator) -> None:
        self.view, self.budget = view, view.remaining
        self.candidates = CandidateStates(view)
        self.sampler = SurrogateSampler(view.features, generator)
        self.crossing_odds = CrossingOdds()
        self.spent = {"first looks": 0.0, "promising": 0.0, "control": 0.0}
        self.arm = "promising"
        self.control: int | None = None
        self.controls: list[int] = []
        self.best_promising, self.best_control = np.inf, np.inf
        self.promising_final_values: list[float] = []
        self.leader: int | None = None

    def next_action(self) -> Action | None:
        """Return the next action of the arm whose turn it is; None if nothing is left to train."""
        if self.crossing_odds.mistrusted and (leader := self._open_leader()) is not None:
            return self._action_of(leader, "promising")
        if self._control_is_next() and (control := self._next_control()) is not None:
            return self._action_of(control, "control")
        best = int(np.argmin(self.candidates.paused_forecast))
        any_open = bool(np.isfinite(self.candidates.paused_forecast[best]))
        next_unstarted = self.candidates.next_unstarted
        if next_unstarted is not None and self._first_look_is_next(any_open):
            return self._action_of(self.sampler.next_candidate(self.candidates.forecast, next_unstarted), "promising")
        return self._action_of(self._candidate_to_continue(best), "promising") if any_open else None

    def learn(self, action: Action) -> None:
        """Update the state after an action."""
        seen, done = self.candidates.update(action.candidate)
        lowest = float(seen.min())
        if action.candidate == self.control:
            if not self._control_continues(action.candidate, seen, done):
                self.control = None
                self._control_ended(action.candidate, lowest, done)
        elif self.arm == "promising":
            self.best_promising = min(self.best_promising, lowest)
            if done:
                self.promising_final_values.append(lowest)
                margin = self.candidates.first_value_spread()
                self.crossing_odds.promising_ended(lowest < self.best_control, self.best_control < lowest - margin)

    def _control_ended(self, candidate: int, lowest: float, done: bool) -> None:
        self.controls.append(candidate)
        if not done:
            return
        candidates, others = self.candidates, self.candidates.started[self.candidates.started != candidate]
        better_first_values = float(
            np.mean(candidates.first_values[candidates.started] < candidates.first_values[candidate])
        )
        self.crossing_odds.control_ended(
            wins=lowest < self.best_promising - candidates.first_value_spread(),
            looked_worse=better_first_values >= LEAST_SURPRISE,
            below_forecasts=lowest < candidates.forecast[others].min(initial=np.inf),
        )
        self.best_control = min(self.best_control, lowest)

    def _control_continues(self, candidate: int, seen: Numbers, done: bool) -> bool:
        """Return whether a control continues: within its arm's share, and while it may be the best."""
        if done or not np.isfinite(seen[-1]):
            return False
        affordable = self.candidates.costs[len(seen)] < min(1.0, CONTROL_SHARE * self.budget) - 1e-9
        hopeful = may_still_be_best(self.view, candidate, self.candidates.started, self.candidates.best_seen)
        return bool(affordable or self.crossing_odds.crossing or hopeful)

    def _control_is_next(self) -> bool:
        if self._random_looks_left():
            return False
        spent = self.spent["promising"] + self.spent["control"]
        if not self.crossing_odds.crossing:
            share = (
                CONTROL_SHARE if spent < UNPROVEN_AFTER or self._promising_clearly_ahead() else UNPROVEN_CONTROL_SHARE
            )
            return self.control is not None or not self.controls or self.spent["control"] < share * spent
        under_way = self.control is not None and self.crossing_odds.mistrusted
        return under_way or self.spent["control"] < self.crossing_odds.share_of_controls * spent

    def _next_control(self) -> int | None:
        """Return the current control or a new one; if curves cross and few are paused, a first look."""
        if self.control is not None:
            return self.control
        candidates, paused = self.candidates, self.candidates.paused
        if self.crossing_odds.crossing:
            if len(paused) < FEWEST_PAUSED and candidates.next_unstarted is not None:
                return candidates.next_unstarted
            self.control = self._by_final_values(paused) if len(paused) else None
        elif len(self.controls) < len(FIRST_CONTROL_QUANTILES) and len(paused):
            by_first_value = paused[candidates.first_values[paused].argsort(kind="stable")]
            self.control = int(
                by_first_value[int(FIRST_CONTROL_QUANTILES[len(self.controls)] * (len(by_first_value) - 1))]
            )
        else:
            self.control = candidates.next_unstarted
        return self.control

    def _by_final_values(self, paused: Indices) -> int:
        finished = self.candidates.finished
        lowest = self.view.observed[finished[-final_value_gp.HISTORY :]].min(axis=1)
        return final_value_gp.choose(finished, lowest, paused, self.candidates.first_values, self.view.features)

    def _promising_clearly_ahead(self) -> bool:
        """Return whether the final values of the promising arm are clearly below those of all controls."""
        if not self.promising_final_values or not self.controls:
            return False
        best = float(self.candidates.forecast[self.controls].min())
        ahead = best - float(np.median(self.promising_final_values))
        return ahead > CLEAR_LEAD * self.candidates.first_value_spread()

    def _random_looks_left(self) -> bool:
        """Return whether first looks at random candidates remain."""
        few = self.candidates.started_count < FEWEST_OBSERVED and self.candidates.next_unstarted is not None
        return few and (
            self.candidates.started_count < FEWEST_FIRST_LOOKS
            or self.spent["first looks"] < RANDOM_LOOK_SHARE * self.budget - 1e-9
        )

    def _first_look_is_next(self, any_open: bool) -> bool:
        if not any_open or self._random_looks_left():
            return True
        return (
            not self.crossing_odds.mistrusted
            and self.spent["first looks"] < FIRST_LOOK_SHARE * self.spent["promising"]
        )

    def _candidate_to_continue(self, best: int) -> int:
        """Return the candidate that the promising arm resumes: the best, or the leader until its end."""
        any_finished = bool(self.promising_final_values) or np.isfinite(self.best_control)
        late = not any_finished and self.spent["promising"] > COMMIT_AFTER * self.budget
        if not (late or self.crossing_odds.mistrusted):
            return best
        leader = self._open_leader()
        self.leader = best if leader is None else leader
        return self.leader

    def _open_leader(self) -> int | None:
        return (
            self.leader
            if self.leader is not None and np.isfinite(self.candidates.paused_forecast[self.leader])
            else None
        )

    def _action_of(self, candidate: int, arm: str) -> Action:
        """Return the candidate's next action and add its cost."""
        done = int(self.view.reached[candidate])
        points = (
            min(self.candidates.end, max(done + 1, int(done * GROWTH_FACTOR)))
            if done
            else self.candidates.first_look_points
        )
        if not done:
            self.candidates.start(candidate)
            self.sampler.learn(candidate, self.candidates.forecast)
        elif arm == "promising" and candidate == self.control:
            self.controls.append(candidate)
            self.control = None  # it belongs to the promising arm now
        cost = float(self.candidates.costs[points] - self.candidates.costs[done])
        self.arm = arm
        self.spent[arm] += cost
        self.spent["first looks"] += cost if arm == "promising" and not done else 0.0
        return Action(candidate, points)
