"""First looks at proposed candidates, continuations by backtested slopes, and promotions by rank, each at its share.

The recommended policy. 45% of the cost goes to looks of two points at candidates that a random tree over
configurations proposes (`path_tree.py`); the first point may precede training and says nothing. The second part
continues the candidate with the best forecast (`slopes.py`) by half of its points: half of it with the learned belief
in slopes, half with straight lines and a trust drawn from [0, 1], which no family of curves misleads altogether. The
last part promotes by rank alone what any part has trained (`promotions.py`), which neither noise nor plateaus deceive
as they do slopes; before that it trains the first candidate to its end, a control, which bounds the loss where curves
cross. The part that has spent least for its share moves. The policy does not know the budget.

First looks are worth their cost if they tell candidates apart. While no look, extrapolated with full trust in its
slope, is better than the end of the control, training to the end tells more than looks do, and looks have a quarter
of the cost.
"""

from collections.abc import Callable, Mapping

import numpy as np

from runners.policies.final_score_gp import FinalScoreProcess
from runners.policies.hurdle_settings import REDUCTION_FACTOR
from runners.policies.path_tree import propose
from runners.policies.policy import Action, Policy, View
from runners.policies.promotions import Promotions
from runners.policies.slopes import Belief, Slopes

SHARES = {"looks": 0.45, "learned": 0.165, "drawn": 0.165, "promotions": 0.22}
FEWER_LOOKS = 0.18  # in place of 0.45 where looks tell little: a quarter of the cost
FIRST_POINTS = 2  # of a first look: one value may precede training, and gives no slope
GROWTH = 1.5  # of the points of a continued candidate: on noisy curves, single points let the lucky one change
RANDOM_LOOKS = 4  # candidates in random order before the first proposal
CONTROL = 0  # candidates are in random order
FEWEST_STARTED = 3  # candidates started before any is continued


class BacktestedSlopes:
    """Implements Policy."""

    def __init__(
        self,
        view: View,
        generator: np.random.Generator,
        shares: Mapping[str, float] = SHARES,
        fewer_looks: float = FEWER_LOOKS,
    ) -> None:
        self._view, self._generator = view, generator
        self._slopes, first = Slopes(view), min(FIRST_POINTS, len(view.costs))
        rungs = [min(first * REDUCTION_FACTOR**power, len(view.costs)) for power in range(len(view.costs))]
        self._rungs = [*dict.fromkeys(rungs)]
        """Points at each rung; the last one is the end."""
        self._first_points, self._promotions = first, Promotions(view, self._rungs[:-1], REDUCTION_FACTOR)
        self._started = np.zeros(len(view.reached), dtype=np.bool_)
        self._observed: list[int] = []
        """The candidates with a value, in the order of their first results."""
        self._spent = dict.fromkeys(shares, 0.0)
        """Cost of each arm's actions, in full trainings."""
        self._shares, self._fewer_looks = shares, fewer_looks
        self._best_forecast = np.inf
        """The best forecast of a first look, the control's excepted, with full trust in its slope."""
        self._arms: Mapping[str, Callable[[], Action | None]] = {
            "looks": self._look,
            "learned": lambda: self._continuation(self._slopes.learned),
            "drawn": lambda: self._continuation(Belief(float(generator.random()))),
            "promotions": lambda: self._control() or self._promotions.next_action(),
        }

    def next_action(self) -> Action | None:
        """Return the action of the arm that has spent least for its share, of those that can act."""
        order = sorted(self._spent, key=lambda arm: self._spent[arm] / self._share(arm))
        if self._started.sum() < FEWEST_STARTED:
            order.insert(0, "looks")
        for arm in order:
            action = self._arms[arm]()
            if action is not None:
                self._started[action.candidate] = True
                self._spent[arm] += self._cost(action)
                return action
        return None

    def observe(self, candidate: int) -> None:
        """Update the curve of a candidate, the belief in slopes, the ranks at rungs and the best first look."""
        if not np.isfinite(self._slopes.best[candidate]) and candidate not in self._observed:
            self._observed.append(candidate)
        self._slopes.observe(candidate)
        self._promotions.observe(candidate)
        if candidate != CONTROL and self._view.reached[candidate] == self._first_points:
            forecast = self._slopes.forecasts(np.array([candidate]), Belief(1.0, self._slopes.learned.power))
            self._best_forecast = min(self._best_forecast, float(forecast[0]))

    def _share(self, arm: str) -> float:
        """Return an arm's share of the cost, relative to those of the others."""
        end = self._view.observed[CONTROL, -1]  # NaN before the control has ended
        return self._fewer_looks if arm == "looks" and end <= self._best_forecast else self._shares[arm]

    def _look(self) -> Action | None:
        features, free = self._view.features, np.flatnonzero(~self._started)
        if not len(free):
            return None
        if len(self._observed) < RANDOM_LOOKS or not features.shape[1]:
            return Action(int(free[0]), self._first_points)
        seen = np.array(self._observed)
        candidate = propose(features, seen, self._slopes.best[seen], free, self._generator)
        return Action(candidate, self._first_points)

    def _continuation(self, belief: Belief) -> Action | None:
        candidates = self._slopes.open
        if not len(candidates):
            return None
        best = int(candidates[np.argmin(self._slopes.forecasts(candidates, belief))])
        points = int(self._view.reached[best])
        return Action(best, min(max(points + 1, int(points * GROWTH)), len(self._view.costs)))

    def _control(self) -> Action | None:
        """Return the next training of the first candidate, which goes to its end whatever its rank."""
        points = int(self._view.reached[CONTROL])
        diverged = points and not np.isfinite(self._view.observed[CONTROL, points - 1])
        if diverged or points == self._rungs[-1] or self._view.in_training[CONTROL]:
            return None
        return Action(CONTROL, next(rung for rung in self._rungs if rung > points))

    def _cost(self, action: Action) -> float:
        done = int(self._view.reached[action.candidate])
        paid = self._view.costs[done - 1] if done else 0.0
        return float(self._view.costs[action.points - 1] - paid)


def recommended(view: View, generator: np.random.Generator) -> Policy:
    """Return the recommended policy: for final scores without curves, that of Gaussian processes."""
    if len(view.costs) == 1:
        return FinalScoreProcess(view, generator)
    return BacktestedSlopes(view, generator)
