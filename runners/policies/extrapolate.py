"""Freeze-thaw that asks curves and configurations, insured by controls: the policy that is recommended.
"""

from collections.abc import Iterator

import numpy as np

from runners.policies import architecture
from runners.policies.curve_model import extrapolate, spread_of
from runners.policies.gaussian_process import kernel
from runners.policies.plausible import may_still_win
from runners.policies.proposing import FEW, Proposer
from runners.policies.race import Move, View

LOOK_COST = 0.04
LOOKS = 0.5  # share of the promising arm that goes to first looks
GROWTH = 1.25  # a candidate that is carried on trains to so many times its points
BEFORE_CONTROLS = 0.3  # full trainings of the promising arm before the first control
INSURANCE = 0.1
FOLLOW_ONE = 0.3
PRIOR, WIN, LOSS = 0.3, 30.0, 3.0
WEAK = 8.0
OPTIMISM=0.0
GAIN=1.5
MARGIN=1.0
GAP=2.5
FROM=5.0
UNPROVEN=0.2
WORSE=0.2
QUANTILE=0.8
STOCK=8
CREDIT=0.5
LEN=0.4


def moves(view: View, chance: np.random.Generator) -> Iterator[Move]:
    """Look, carry on, control; where there are no curves but final scores alone, the predictor of architectures."""
    if len(view.costs) == 1:
        yield from architecture.moves(view, chance)
        return
    search = Search(view, chance)
    while (move := search.next_move()) is not None:
        yield move
        search.learn(move)


def first_look(costs) -> int:
    within = int(np.searchsorted(costs, LOOK_COST + 1e-9, side="right"))
    return max(within, 2 if costs[1] <= 0.11 else 1)


class Search:
    """What the policy remembers between moves; all of it follows from what was observed and the seed."""

    def __init__(self, view: View, chance: np.random.Generator) -> None:
        self.view, self.chance = view, chance
        self.end = len(view.costs)
        self.look = first_look(view.costs)
        self.fresh = np.arange(len(view.reached))
        self.started = np.zeros(0, dtype=np.int64)
        self.promise = np.full(len(view.reached), np.inf)
        self.budget, self.best_seen = view.remaining, np.inf
        self.spent = {"looks": 0.0, "promising": 0.0, "control": 0.0}
        self.control: int | None = None
        self.controls: list[int] = []
        self.finished_controls: list[int] = []
        self.best_promising = np.inf
        self.promising_finished = False
        self.first_control_over = False
        self.odds = PRIOR
        self.wins = 0
        self.leader: int | None = None
        self.finished_one = False
        self.proposer = Proposer(view.features, chance)

    def next_move(self) -> Move | None:
        if self.wins and self.odds > 1 and self.leader is not None and np.isfinite(self.promise[self.leader]) and self.view.reached[self.leader] < self.end:
            return self._go(self.leader, "promising")
        if self._turn_of_control():
            if self.control is None:
                self.control = self._new_control()
            if self.control is not None:
                move = self._go(self.control, "control")
                if self.wins and move.points == self.look and len(self._open()) < STOCK and self.look < self.end:
                    self.control = None   # a look for the stock
                return move
        carried_on = self._open()
        if len(self.fresh) and self._wants_a_look(carried_on):
            return self._go(self.proposer.propose(self.promise, int(self.fresh[0])), "promising")
        return self._go(self._most_promising(carried_on), "promising") if len(carried_on) else None

    def learn(self, move: Move) -> None:
        candidate, view = move.candidate, self.view
        points = int(view.reached[candidate])
        seen = view.observed[candidate, :points]
        alive, best_before = bool(np.isfinite(seen[-1])), self.best_seen
        self.best_seen = min(self.best_seen, float(seen.min()))
        self.promise[candidate] = self._forecast(candidate, points) if alive else np.inf
        done = alive and points == self.end
        self.finished_one = self.finished_one or done
        if candidate == self.control:
            patient = alive and view.costs[points - 1] < self._patience() - 1e-9
            if not patient and (self.wins and alive and points<self.end or may_still_win(view, candidate, self.started, self.best_seen)):
                patient = True
            if not patient:
                self.controls.append(candidate)
                if done: self.finished_controls.append(candidate)
                self.control = None
                if done:
                    mine, margin = float(seen.min()), self._margin()
                    if not self.wins:
                        others = self.started[self.started != candidate]
                        rival = float(self.promise[others].min()) if len(others) else np.inf
                        if mine < self.best_promising - margin and self._looked_worse(candidate):
                            self.wins += 1
                            self.leader = None
                            self.odds *= WIN if mine < rival else WEAK
                    elif self.promising_finished:
                        self.odds *= GAIN if mine < self.best_promising - margin else 1/GAIN
        else:
            self.best_promising = min(self.best_promising, float(seen.min()))
            self.promising_finished |= done
            if done and self.wins:
                best_control = min((float(view.observed[each].min()) for each in self.finished_controls), default=np.inf)
                self.odds *= 1/LOSS if float(seen.min()) < best_control else 2 if best_control<float(seen.min())-self._margin() else 1
        if candidate == self.leader and (done or not alive):
            self.leader = None

    def _margin(self):
        looks = self.view.observed[self.started, self.look - 1]
        return MARGIN * spread_of(looks[np.isfinite(looks)])

    def _looked_worse(self, candidate):
        looks = self.view.observed[self.started, self.look - 1]
        return float(np.mean(looks < self.view.observed[candidate, self.look-1])) >= WORSE

    def _proven(self):
        best = min((float(self.promise[each]) for each in self.controls), default=-np.inf)
        done = self.started[(self.view.reached[self.started] == self.end) & np.isfinite(self.promise[self.started])]
        ends = [float(self.promise[each]) for each in done if each not in self.controls]
        return bool(ends) and float(np.median(ends)) < best - GAP/MARGIN*self._margin()

    def _patience(self):
        return min(1.0, INSURANCE * self.budget)

    def _turn_of_control(self) -> bool:
        if self._looks_first():
            return False
        total = self.spent["promising"] + self.spent["control"]
        if not self.wins:
            share = INSURANCE if total < FROM or self._proven() else UNPROVEN
            return self.control is not None or not self.controls or self.spent["control"] < share * total
        if self.control is not None and self.odds > 1: return True
        share = self.odds / (1 + self.odds)
        return self.spent["control"] < share * total

    def _new_control(self) -> int | None:
        if self.wins:
            opened = self._open()
            if len(opened) < STOCK and len(self.fresh):
                return int(self.fresh[0])
            return self._by_ends(opened)
        opened = self._open()
        if len(self.controls) < 2 and len(opened):
            order = opened[self.view.observed[opened, self.look - 1].argsort(kind="stable")]
            return int(order[int((1.0 if self.controls else QUANTILE) * (len(order) - 1))])
        return int(self.fresh[0]) if len(self.fresh) else None

    def _by_ends(self, opened):
        view = self.view
        if not len(opened): return None
        finished = self.started[(view.reached[self.started] == self.end) & np.isfinite(self.promise[self.started])]
        both = np.concatenate([finished, opened])
        looks = view.observed[both, self.look - 1]
        r = looks.argsort(kind="stable").argsort() / max(len(both) - 1, 1)
        K = np.exp(-.5*((r[:,None]-r[None])/LEN)**2)
        if view.features.shape[1]:
            K = .5*K + .5*kernel(view.features[both], view.features[both])
        n = len(finished)
        y = view.observed[finished].min(axis=1); sd = y.std() or 1.0
        z = (y-y.mean())/sd
        A = K[:n,:n]+0.1*np.eye(n)
        k = K[n:,:n]
        S = np.linalg.solve(A, np.concatenate([z[:,None], k.T],1))
        mean = k@S[:,0]; var = np.maximum(1-(k*S[:,1:].T).sum(1),1e-6)
        return int(opened[np.argmin(mean-CREDIT*np.sqrt(var))])

    def _open(self) -> np.ndarray:
        may = (self.view.reached[self.started] < self.end) & np.isfinite(self.promise[self.started])
        return np.asarray(self.started[may])

    def _looks_first(self):
        return len(self.started)<FEW and len(self.fresh)>0 and (len(self.started)<3 or self.spent['looks']<.1*self.budget - 1e-9)

    def _wants_a_look(self, carried_on: np.ndarray) -> bool:
        if not len(carried_on): return True
        if self._looks_first(): return True
        if self.wins and self.odds > 1: return False
        return self.spent["looks"] < LOOKS * self.spent["promising"]

    def _most_promising(self, carried_on: np.ndarray) -> int:
        best = int(carried_on[np.argmin(self.promise[carried_on])])
        follow = (not self.finished_one and self.spent["promising"] > FOLLOW_ONE * self.budget) or (self.wins and self.odds>1)
        if not follow:
            return best
        if self.leader is None or not np.isfinite(self.promise[self.leader]) or self.view.reached[self.leader]==self.end:
            self.leader = best
        return self.leader

    def _go(self, candidate: int, arm: str) -> Move:
        done = int(self.view.reached[candidate])
        points = min(self.end, max(done + 1, int(done * GROWTH))) if done else self.look
        if not done:
            self.fresh = self.fresh[self.fresh != candidate]
            self.started = np.append(self.started, candidate)
            self.proposer.learn(candidate, self.promise)
        elif arm == "promising" and candidate == self.control:
            self.control = None  # it stands on its own merits now
            self.controls.append(candidate)
        cost = float(self.view.costs[points - 1] - (self.view.costs[done - 1] if done else 0.0))
        self.spent[arm] += cost
        self.spent["looks"] += cost if arm == "promising" and not done else 0.0
        return Move(candidate, points)

    def _forecast(self, candidate: int, points: int) -> float:
        view = self.view
        latest = view.observed[self.started, np.maximum(view.reached[self.started] - 1, 0)]
        mean, sd = extrapolate(view.observed[candidate : candidate + 1], np.array([points]), spread_of(latest))
        return float(mean[0] - OPTIMISM*sd[0]) if points < self.end else float(mean[0])
