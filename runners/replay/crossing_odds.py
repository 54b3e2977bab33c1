"""How far beginnings are to be trusted: the odds that ends have nothing to do with them, and what moves these odds.

A control is trained to its end although it did not look well. If its end lies clearly below all that the promising
arm has shown, curves cross here, and the control arm takes over. From then on every whole training speaks for one arm
or the other. What is level within the spread of first looks speaks for neither.
"""

from dataclasses import dataclass

PRIOR = 0.3  # odds of crossing curves before any control
CLEAR_WIN, WIN = 30.0, 8.0  # factors of a first win: against forecasts too, or only against what was seen
MORE, LATER_LOSS = 1.5, 1.5  # factors of later controls
LEADER_WINS, LEADER_LOSES = 3.0, 2.0  # factors of a promising candidate at its end


@dataclass
class Trust:
    """The odds, and whether any control has won."""

    odds: float = PRIOR
    crossing: bool = False
    promising_finished: bool = False

    @property
    def lost(self) -> bool:
        """Whether whole trainings come first now."""
        return self.crossing and self.odds > 1

    @property
    def share_of_controls(self) -> float:
        """The control arm's share of what is spent, once a control has won."""
        return self.odds / (1 + self.odds)

    def control_ended(self, wins: bool, looked_worse: bool, below_forecasts: bool) -> None:
        """Take in a control at its end: whether it clearly beats the promising, though it had looked worse."""
        if self.crossing:
            if self.promising_finished:
                self.odds *= MORE if wins else 1 / LATER_LOSS
        elif wins and looked_worse:
            self.crossing = True
            self.odds *= CLEAR_WIN if below_forecasts else WIN

    def promising_ended(self, beats_controls: bool, clearly_beaten: bool) -> None:
        """Take in a promising candidate at its end, against the best end of a control."""
        self.promising_finished = True
        if self.crossing:
            self.odds *= 1 / LEADER_WINS if beats_controls else LEADER_LOSES if clearly_beaten else 1.0
