"""Odds that learning curves cross, so that first values do not predict final values, and their updates.

A control is trained to its end although its first value was bad. If it ends clearly below every value of the
promising arm, curves cross, and the control arm takes over. Afterwards every full training multiplies the odds by a
fixed factor for one of the arms; differences within the spread of first values are ignored.
"""

from dataclasses import dataclass

PRIOR_ODDS = 0.3  # odds of crossing curves before any control
FIRST_CLEAR_WIN, FIRST_WIN = 30.0, 8.0  # factors of a first win: against forecasts too, or only against what was seen
LATER_WIN, LATER_LOSS = 1.5, 1.5  # factors of later controls
PROMISING_WIN, PROMISING_LOSS = 3.0, 2.0  # factors of a promising candidate at its end


@dataclass
class CrossingOdds:
    """The odds, and whether any control has won."""

    odds: float = PRIOR_ODDS
    crossing: bool = False
    promising_finished: bool = False

    @property
    def mistrusted(self) -> bool:
        """Whether first values are mistrusted, so that full trainings have priority."""
        return self.crossing and self.odds > 1

    @property
    def share_of_controls(self) -> float:
        """The control arm's share of the budget, after a control has won."""
        return self.odds / (1 + self.odds)

    def control_ended(self, wins: bool, looked_worse: bool, below_forecasts: bool) -> None:
        """Update after a control's end: whether it clearly beats the promising arm, despite a worse first value."""
        if self.crossing:
            if self.promising_finished:
                self.odds *= LATER_WIN if wins else 1 / LATER_LOSS
        elif wins and looked_worse:
            self.crossing = True
            self.odds *= FIRST_CLEAR_WIN if below_forecasts else FIRST_WIN

    def promising_ended(self, beats_controls: bool, clearly_beaten: bool) -> None:
        """Update after the end of a promising candidate, compared with the best final value of a control."""
        self.promising_finished = True
        if self.crossing:
            self.odds *= 1 / PROMISING_WIN if beats_controls else PROMISING_LOSS if clearly_beaten else 1.0
