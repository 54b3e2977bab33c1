"""Nodes: their probe, stages that run alone, and runs with their stages in an object store."""

import random
import shutil
from pathlib import Path

import pytest

from runners.executors.local import LocalExecutor
from runners.executors.node_probe import OPERATORS, NodeReport, environment, mistakes, report_of
from runners.stages.corpus import CorpusStage
from runners.stages.latency import LatencyStage, this_machine
from runners.stages.stage import Stage
from runners.work_queue import StageTask
from steeplechase.ledger.artifacts import ArtifactStore, Outcome
from steeplechase.ledger.object_artifacts import artifact_store
from steeplechase.ledger.object_store import ObjectStore
from steeplechase.tasks.corpora.documentation import DocumentationCorpus
from tests.factories import simulated_training as simulated
from tests.factories.latencies import experiment
from tests.factories.simulated_training import Killed, Track, folder_of, found


@pytest.mark.engines
def test_an_exclusive_stage_runs_alone(tmp_path: Path) -> None:
    stages = LatencyStage.by_label(experiment(lengths=(64,)), this_machine("cpu"))
    alone = StageTask(None, "alone", stages["latency n = 64"])
    refused = CorpusStage(corpus=DocumentationCorpus(distributions=("no-such-distribution",)), read=None)
    others = [StageTask(None, f"other {number}", Stage(refused)) for number in range(3)]
    waiting, running = [others[0], alone, *others[1:]], set[str]()
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


DRIVER = {"torch": "2.13.0", OPERATORS: "native 1"}


def test_nodes_like_the_driver_are_accepted() -> None:
    assert [*mistakes([NodeReport("a", "", DRIVER), NodeReport("b", "", DRIVER)], DRIVER)] == []


def test_every_mistake_of_every_node_is_told_at_once_with_the_folder_and_the_values() -> None:
    reports = [
        NodeReport("two (10.0.0.2)", "", {**DRIVER, "torch": "2.12.0"}),
        NodeReport("one (10.0.0.1)", "Ray node one does not see /results", {**DRIVER, OPERATORS: "portable"}),
    ]
    first, second, third = mistakes(reports, DRIVER)
    assert first == "Ray node one does not see /results"
    assert "operators portable for native 1" in second
    assert third.startswith(
        "Ray node two (10.0.0.2) would compute other numbers than the driver: torch 2.12.0 for 2.13.0;"
    )


def test_a_node_reports_what_it_reads_and_what_keys_hold(tmp_path: Path) -> None:
    visible = tmp_path / "stages" / "scratch" / "visible"
    visible.parent.mkdir(parents=True)
    expected = f"(10.0.0.1) does not see {tmp_path / 'stages'}, where the driver keeps its results; put --out on"
    assert expected in report_of("10.0.0.1", visible, "token").unseen
    visible.write_text("of another run")
    assert expected in report_of("10.0.0.1", visible, "token").unseen
    visible.write_text("token")
    report = report_of("10.0.0.1", visible, "token")
    assert report.unseen == ""
    assert report.environment == environment()
    assert report.node.endswith(" (10.0.0.1)")
    assert {"torch", "tokenizers", "numpy", "scikit-learn", OPERATORS} <= environment().keys()


def test_a_node_reads_the_drivers_object(tmp_path: Path) -> None:
    url, nowhere = f"file://{tmp_path}/objects", tmp_path / "visible"
    with ObjectStore(url).probe("token"):
        assert report_of("10.0.0.1", nowhere, "token", url).unseen == ""
        assert "does not find what the driver has written" in report_of("10.0.0.1", nowhere, "other", url).unseen
    assert "does not find" in report_of("10.0.0.1", nowhere, "token", url).unseen
    assert "cannot read the object store: nonsense://x" in report_of("a", nowhere, "token", "nonsense://x").unseen


class Stored(Track):
    """A run whose stages are in an object store beside its folder."""

    @property
    def store(self) -> ArtifactStore:
        return artifact_store(self.folder / "stages", f"file://{self.folder}.objects")


@pytest.mark.parametrize("left", [4, 8])
def test_a_killed_run_goes_on_from_the_store_alone(tmp_path: Path, left: int) -> None:
    experiment = simulated.small_table(tmp_path)
    whole = Track(experiment, folder_of(tmp_path, "whole"))
    killed = Stored(experiment, folder_of(tmp_path, "killed"), left=left)
    with pytest.raises(Killed):
        killed.run()
    shutil.rmtree(killed.folder / "stages")  # the copies of this machine
    resumed = Stored(experiment, killed.folder, order=random.Random(left))
    assert found(resumed.run()) == found(whole.run())
    assert sorted(killed.computed + resumed.computed) == sorted(whole.computed)
