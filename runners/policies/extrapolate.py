"""Freeze-thaw that asks curves and configurations, kept honest by controls: the policy that is recommended.

Two arms share the budget. The *promising* arm spends half on first looks at candidates that an additive Gaussian
process over configurations ranks best, and half on carrying on whoever the curve model sees ending best. The
*control* arm draws candidates at random and trains each until even the most hopeful reading of its curve cannot beat
the best value seen. Where beginnings tell ends, controls are given up after a few points and cost little; where
curves cross, they come through and win, and the budget goes over to them. After a first win, the control is whoever
the reversed order of first looks names, if ends have so far run against beginnings.

After Swersky et al. 2014, Freeze-Thaw Bayesian Optimization, arXiv 1406.3896; the control arm is our own. Every
constant was set on curves made by runners/curves/synthetic.py and one TaskSet task, as docs/replay.md tells.
"""

from collections.abc import Iterator

import numpy as np

from runners.policies import architecture
from runners.policies.curve_model import extrapolate, spread_of
from runners.policies.plausible import may_still_win
from runners.policies.proposing import FEW, propose
from runners.policies.race import Move, View

FIRST_LOOK = 2  # points: the fall from the first to the second tells candidates apart where the first alone does not
LOOKS = 0.5  # share of the promising arm that goes to first looks
GROWTH = 1.25  # a candidate that is carried on trains to so many times its points
BEFORE_CONTROLS = 0.3  # full trainings of the promising arm before the first control
CONTROLS = 0.65  # share of the control arm before any control has won or lost
WEIGHT_OF_A_WIN, WEIGHT_OF_A_LOSS = 12.0, 1.0  # how the odds of that share move
FOLLOW_ONE = 0.3  # of the budget: spent without a finished candidate, the leader is carried through to its end
TELLING = 0.3  # of a training: from here on a forecast counts as evidence that ends run against beginnings


def moves(view: View, chance: np.random.Generator) -> Iterator[Move]:
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
        self.view, self.chance = view, chance
        self.end = len(view.costs)
        self.look = min(FIRST_LOOK, self.end)
        self.fresh = np.arange(len(view.reached))
        self.started = np.zeros(0, dtype=np.int64)
        self.promise = np.full(len(view.reached), np.inf)
        self.budget, self.best_seen = view.remaining, np.inf
        self.spent = {"looks": 0.0, "promising": 0.0, "control": 0.0}
        self.control: int | None = None
        self.controls_over: set[int] = set()
        self.wins, self.losses = 0, 0
        self.leader: int | None = None
        self.finished_one = False

    def next_move(self) -> Move | None:
        """Return the next move of the arm whose turn it is; None where nothing is left to train."""
        if self._turn_of_control():
            self.control = self.control if self.control is not None else self._new_control()
            if self.control is not None:
                return self._go(self.control, "control")
        carried_on = self._open()
        if len(self.fresh) and self._wants_a_look(carried_on):
            promises = self.promise[self.started]
            chosen = propose(self.view.features, promises, self.started, self.fresh, self.chance)
            return self._go(chosen, "promising")
        return self._go(self._most_promising(carried_on), "promising") if len(carried_on) else None

    def learn(self, move: Move) -> None:
        """Take in what the move has shown."""
        candidate, view = move.candidate, self.view
        points = int(view.reached[candidate])
        seen = view.observed[candidate, :points]
        alive, best_before = bool(np.isfinite(seen[-1])), self.best_seen
        self.best_seen = min(self.best_seen, float(seen.min()))
        self.promise[candidate] = self._forecast(candidate, points) if alive else np.inf
        self.finished_one = self.finished_one or (alive and points == self.end)
        if candidate == self.control and not may_still_win(view, candidate, self.started, self.best_seen):
            won = points == self.end and alive and float(seen.min()) <= best_before
            self.wins, self.losses = self.wins + won, self.losses + (not won)
            self.controls_over.add(candidate)
            self.control = None

    def _turn_of_control(self) -> bool:
        if self.spent["promising"] <= BEFORE_CONTROLS:
            return False
        odds = CONTROLS / (1 - CONTROLS) * (1 + WEIGHT_OF_A_WIN * self.wins) / (1 + WEIGHT_OF_A_LOSS * self.losses)
        share = odds / (1 + odds)
        return self.spent["control"] < share * (self.spent["promising"] + self.spent["control"])

    def _new_control(self) -> int | None:
        reversed_choice = self._last_by_first_look() if self.wins else None
        if reversed_choice is not None:
            return reversed_choice
        return int(self.fresh[0]) if len(self.fresh) else None

    def _last_by_first_look(self) -> int | None:
        """Return the candidate with the worst first look that may still win, where ends run against beginnings."""
        view = self.view
        telling = self.started[(view.reached[self.started] >= TELLING * self.end)]
        telling = telling[np.isfinite(self.promise[telling])]
        looks, ends = view.observed[telling, self.look - 1], self.promise[telling]
        if len(telling) < 2 or not np.ptp(looks) * np.ptp(ends) or np.corrcoef(looks, ends)[0, 1] >= 0:
            return None
        worst_first = sorted(self._open(), key=lambda each: (-view.observed[each, self.look - 1], each))
        for candidate in worst_first:
            over = int(candidate) in self.controls_over
            if not over and may_still_win(view, int(candidate), self.started, self.best_seen):
                return int(candidate)
        return None

    def _open(self) -> np.ndarray:
        """Return the started candidates that can be trained further."""
        may = (self.view.reached[self.started] < self.end) & np.isfinite(self.promise[self.started])
        return np.asarray(self.started[may])

    def _wants_a_look(self, carried_on: np.ndarray) -> bool:
        few = len(self.started) < FEW or not len(carried_on)
        return few or self.spent["looks"] < LOOKS * self.spent["promising"]

    def _most_promising(self, carried_on: np.ndarray) -> int:
        best = int(carried_on[np.argmin(self.promise[carried_on])])
        if self.finished_one or self.spent["promising"] <= FOLLOW_ONE * self.budget:
            return best
        if self.leader is None or not np.isfinite(self.promise[self.leader]):
            self.leader = best
        return self.leader

    def _go(self, candidate: int, arm: str) -> Move:
        """Return the candidate's next move and book its cost."""
        done = int(self.view.reached[candidate])
        points = min(self.end, max(done + 1, int(done * GROWTH))) if done else self.look
        if not done:
            self.fresh = self.fresh[self.fresh != candidate]
            self.started = np.append(self.started, candidate)
        elif arm == "promising" and candidate == self.control:
            self.control = None  # it stands on its own merits now
        cost = float(self.view.costs[points - 1] - (self.view.costs[done - 1] if done else 0.0))
        self.spent[arm] += cost
        self.spent["looks"] += cost if arm == "promising" and not done else 0.0
        return Move(candidate, points)

    def _forecast(self, candidate: int, points: int) -> float:
        view = self.view
        latest = view.observed[self.started, np.maximum(view.reached[self.started] - 1, 0)]
        mean, _ = extrapolate(view.observed[candidate : candidate + 1], np.array([points]), spread_of(latest))
        return float(mean[0])
