"""An exclusive stage runs alone: it starts when no task runs, and none starts until it has ended."""

from pathlib import Path

import pytest

from ledger.artifacts import Outcome
from runners.executors.local import LocalExecutor
from runners.latency_stages import latency_stages
from runners.stages.declarations import CorpusStage
from runners.stages.latency import this_machine
from runners.stages.stage import Stage
from runners.work_queue import StageTask
from tasks.corpora.documentation import DocumentationCorpus
from tests.factories.latencies import experiment


@pytest.mark.engines
@pytest.mark.parametrize("place", [0, 1, 3])
def test_an_exclusive_stage_runs_alone(tmp_path: Path, place: int) -> None:
    stages = latency_stages(experiment(lengths=(64,)), this_machine("cpu"))
    alone = StageTask(None, "alone", stages.by_length[64])
    refused = CorpusStage(corpus=DocumentationCorpus(distributions=("no-such-distribution",)), read=None)
    others = [StageTask(None, f"other {number}", Stage(refused)) for number in range(3)]
    waiting, running = [*others[:place], alone, *others[place:]], set[str]()
    beside, ended = list[set[str]](), dict[str, object]()
    with LocalExecutor(tmp_path, 2) as executor:
        while waiting or running:
            while (task := next(filter(executor.accepts, waiting), None)) is not None:
                waiting.remove(task)
                executor.start(task)
                running.add(task.label)
                beside.append(set(running))
            for task, end in executor.finished():
                running.remove(task.label)
                ended[task.label] = end
    assert {"alone"} in beside
    assert all(labels == {"alone"} for labels in beside if "alone" in labels)
    assert any(len(labels) == 2 for labels in beside)
    assert isinstance(ended["alone"], Outcome)
    assert len(ended) == 4
