"""An exclusive stage has the machine alone: nothing runs when it starts, and nothing starts before it has ended."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ledger.artifacts import Outcome
from ledger.records import Record, TrialRow, TrialStatus
from runners.executors.local import LocalExecutor
from runners.latency_stages import latency_stages
from runners.stages.declarations import CorpusStage
from runners.stages.latency import this_machine
from runners.stages.stage import Stage
from runners.work_queue import Failure, StageTask
from tasks.corpora.documentation import DocumentationCorpus
from tests.factories.latencies import experiment


@dataclass
class Listed:
    """Stages in the order of a list, each ready at once."""

    tasks: Iterator[StageTask]
    number: int
    recorded: list[Record] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    done: tuple[StageTask, ...] = ()
    running: tuple[StageTask, ...] = ()
    remaining: tuple[StageTask, ...] = ()
    standings: tuple[tuple[TrialRow, TrialStatus], ...] = ()

    def next_work(self) -> StageTask | None:
        task = next(self.tasks, None)
        if task is not None:
            self.started.append(task.label)
        return task

    def finish(self, work: StageTask, end: Outcome | Failure) -> None:
        assert isinstance(end, Outcome) or not work.stage.declaration.exclusive, end
        self.ended.append(work.label)

    @property
    def over(self) -> bool:
        return len(self.ended) == self.number


@pytest.mark.engines
@pytest.mark.parametrize("place", [0, 1, 3])
def test_nothing_runs_beside_a_stage_that_is_timed(tmp_path: Path, place: int) -> None:
    alone = StageTask(None, "alone", latency_stages(experiment(lengths=(64,)), this_machine("cpu"))["latency n = 64"])
    refused = CorpusStage(
        corpus=DocumentationCorpus(distributions=("no-such-distribution",)), read=None
    )  # ends in a moment
    others = [StageTask(None, f"other {number}", Stage(refused)) for number in range(3)]
    agenda = Listed(iter([*others[:place], alone, *others[place:]]), len(others) + 1)
    beside: list[set[str]] = []
    with LocalExecutor(tmp_path, 2) as executor:
        executor.run(agenda, lambda: beside.append({task.label for task in executor.running}))
    assert {"alone"} in beside
    assert all(labels == {"alone"} for labels in beside if "alone" in labels)
    assert sorted(agenda.ended) == sorted(agenda.started)
