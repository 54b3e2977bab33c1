"""Progressive dynamic hurdles: computed by hand, against an independent implementation, in any order."""

import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runners.work_queue import Failure, StageTask
from steeplechase.configuration.hurdles.progressive_mean import ProgressiveMean
from steeplechase.ledger.artifacts import Outcome
from steeplechase.ledger.records import Status, TrialStatus
from tests.factories import simulated_training as simulated
from tests.factories.populations import Runner, race
from tests.factories.simulated_training import Track, found
from tests.factories.stage_results import PLAUSIBLE


def trainer_of(table: Mapping[str, tuple[float, ...]]) -> Any:
    """Return a trainer that reads each trial's losses at the marks off a table."""

    def train(work: StageTask) -> Outcome | Failure:
        if work.trial is None:
            return Outcome(Status.FINISHED, PLAUSIBLE[work.stage.kind], 1.0)
        losses = table[work.trial.replace("@final", "")]
        level = [640, 1280, 2560].index(int(work.label.partition("@")[2]))
        if math.isnan(losses[level]):
            return Outcome(Status.DIVERGED, {"tokens": 64, "loss": "nan"}, 1.0)
        return Outcome(Status.FINISHED, {"tokens": 640, "held_out_loss": losses[level]}, 1.0)

    return train


def names(count: int) -> list[str]:
    return ["baseline/1", *(f"candidate-{number:03d}/1" for number in range(1, count))]


def test_a_search_follows_a_sequence_computed_by_hand(tmp_path: Path) -> None:
    worked = [
        (6.0, 5.5, 5.0),  # the baseline: sets h0 with its cohort, is never judged, sets no later hurdle
        (8.0,),  # first cohort: stops at the first mark, h0 = (6 + 8 + 7 + 7) / 4 = 7
        (7.0,),
        (7.0,),
        (6.9, 6.5),  # second cohort: below 7, reaches the second mark, where there is no hurdle yet
        (7.0,),  # not below 7
        (6.0, 5.9),  # h1 = (6.5 + 5.9) / 2 = 6.2
        (math.nan,),
        (6.5, 6.1, 5.8),  # third cohort: below 7 (h0 has not moved) and below 6.2
        (6.99, 6.2),  # below 7, not below 6.2
        (7.5,),
        (6.0, math.nan),
    ]
    track = Track(simulated.search(tmp_path), tmp_path, trainer_of(dict(zip(names(12), worked, strict=True))))
    trials = found(track.run())["trials"]
    thresholds = {name: [(cleared, bar) for _, cleared, _, bar, _ in trials[name][2]] for name in trials}
    assert list(thresholds.values()) == [
        [],
        *[[(False, None)]] * 3,
        [(True, 7.0), (False, None)],
        [(False, 7.0)],
        [(True, 7.0), (False, None)],
        [],
        [(True, 7.0), (True, 6.2)],
        [(True, 7.0), (False, 6.2)],
        [(False, 7.0)],
        [(True, 7.0)],
    ]
    standings = [trials[name][0] for name in names(12)]
    assert [one is TrialStatus.FINISHED for one in standings] == [place in (0, 8) for place in range(12)]
    assert [place for place, one in enumerate(standings) if one is TrialStatus.DIVERGED] == [7, 11]


def by_the_rule(table: list[tuple[float, ...]], cohort: int) -> list[int]:
    """Read the rule anew: return how many marks each trial reaches. The baseline stands first.

    The first children train to the first mark only; the mean of the population then is the first hurdle; who beats
    all hurdles there are trains one mark further; the mean of those at the furthest mark is the next hurdle.
    """
    hurdles: list[float | None] = [None, None]
    reached = [3] + [0] * (len(table) - 1)
    for first in range(0, len(table), cohort):
        present = range(first, min(first + cohort, len(table)))
        before = list(hurdles)
        for place in (one for one in present if one):
            for level in range(3):
                if math.isnan(table[place][level]):
                    break
                reached[place] = level + 1
                bar = before[level] if level < 2 else math.inf
                if bar is None or not table[place][level] < bar:
                    break
        for level in range(2):
            at_mark = [table[place][level] for place in present if reached[place] > level and (place or not level)]
            if hurdles[level] is None and at_mark:
                hurdles[level] = math.fsum(at_mark) / len(at_mark)
    return reached


def random_losses(chance: random.Random, count: int) -> list[tuple[float, ...]]:
    """Return losses at two marks and the end; a tenth of the candidates diverges on the way to either mark."""
    first, *others = [(chance.uniform(4, 9), chance.uniform(4, 8), 4.0) for _ in range(count)]
    spoilt = [tuple(math.nan if chance.random() < 0.1 else loss for loss in one[:2]) + one[2:] for one in others]
    return [first, *spoilt]


def test_random_searches_agree_with_an_independent_implementation() -> None:
    chance, deepest = random.Random(20261121), set()
    for _ in range(300):
        size, count = chance.randint(1, 5), chance.randint(2, 14)
        table = random_losses(chance, count)
        every = [
            Runner(f"{place:02d}", place // size, [None if math.isnan(loss) else loss for loss in losses])
            for place, losses in enumerate(table)
        ]
        every[0].exempt, every[0].shown = True, list(table[0][:2])
        field = [every[first : first + size] for first in range(0, count, size)]
        race(ProgressiveMean(rungs=(1, 2)), field, chance)
        through = [runner.exempt or [one.cleared for one in runner.decisions] == [True, True] for runner in every]
        marks = [
            sum(loss is not None for loss in runner.shown) + more for runner, more in zip(every, through, strict=True)
        ]
        assert marks == by_the_rule(table, size)
        deepest.add(tuple(marks))
    assert len(deepest) > 150


def test_the_scheduler_stops_random_searches_at_the_same_rungs(tmp_path: Path) -> None:
    design = {**simulated.SEARCH, "max_candidates": 9, "cohort": 3}
    chance, course = random.Random(20261121), simulated.search(tmp_path, design=design)
    for _ in range(8):
        table = random_losses(chance, 9)
        losses = dict(zip(names(9), table, strict=True))
        track = Track(
            course, tmp_path, trainer_of(losses), order=chance, ledger_path=Path(":memory:"), publishes=False
        )
        trials = found(track.run())["trials"]
        finished = [
            [record[1] for record in records.values()].count(Status.FINISHED)
            for name, (_, records, _) in trials.items()
            if "@final" not in name  # where no candidate finishes, the best one is trained to its end afterwards
        ]
        assert finished == by_the_rule(table, cohort=3)
