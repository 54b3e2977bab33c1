"""A simulated trainer: tabulated curves in place of training, under the real run loop, Ledger and ArtifactStore."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from runners.dag import shared_stages
from runners.executors import Executor
from runners.journal import Journal
from runners.run import no_progress_reports, run_stages
from runners.run_progress import RunProgress
from runners.stages.fine_tune import FineTuneStage
from runners.stages.pretrain import PretrainStage
from runners.work_queue import Failure, StageTask
from steeplechase.configuration.experiment import Experiment
from steeplechase.foundation.canonical import canonical, canonical_text
from steeplechase.foundation.locking import Holder
from steeplechase.ledger.artifacts import ArtifactStore, Outcome
from steeplechase.ledger.database import Ledger
from steeplechase.ledger.paths import predictions_file
from steeplechase.ledger.records import Status
from steeplechase.ledger.reuse import reuse
from steeplechase.ledger.reused_rows import reused_rows
from steeplechase.ledger.snapshot import Snapshot, snapshot
from steeplechase.tasks.labelled.encoding import EncodedExamples, save_examples
from tests.factories.stage_results import PLAUSIBLE

DEV_EXAMPLES = 6
TOKENS_PER_STEP = 64
RECIPE = {"sequence_length": 16, "batch_sequences": 4, "schedule": {"kind": "linear", "warmup_tokens": 64}}
ARCHITECTURE = {"depth": 1, "width": 32, "embedding_width": 32, "heads": 4, "feed_forward_width": 32, "positions": 16}
TABLE = {"kind": "list", "arms": {"narrow": {"bottleneck_ratio": 2}, "dynamic": {"convolution": {"kind": "dynamic"}}}}
SPACE = {
    "bottleneck_ratio": [1, 2, 4],
    "convolution": [{"kind": "none"}, {"kind": "dynamic"}, {"kind": "span_dynamic"}],
    "convolution.kernel_size": [3, 5, 9],
}
SEARCH = {
    "kind": "search",
    "space": SPACE,
    "max_candidates": 12,
    "cohort": 4,
    "sampler": "random",
    "max_seeds": 1,
}
SMALL = {"tasks": ["docs_pair"], "seeds": [1], "sequence_length": 16}
EVOLUTION = {"population": 2, "tournament_size": 2, "mutation_rate": 0.3, "initial_population": "random"}
HURDLES = {"kind": "progressive_mean", "rungs": [640, 1280]}


class Killed(BaseException):
    """The driver was killed; not to be caught."""


def experiment(folder: Path, **parts: Any) -> Experiment:
    """Return a small table over a file of text; `parts` replace the sections of that name."""
    text = folder / "text.txt"
    text.write_text("a text\n" * 4000)
    document = {
        "experiment": "simulated",
        "question": "What does the cascade decide?",
        "baseline": {"architecture": ARCHITECTURE, "objective": {"kind": "masked_language_model"}, "recipe": RECIPE},
        "design": TABLE,
        "corpus": {"kind": "text_files", "path": str(text)},
        "pretraining": {"tokens": 2560, "seeds": [1, 2]},
        "fine_tuning": {"tasks": ["docs_pair", "docs_acceptability"], "seeds": [1, 2], "sequence_length": 16},
        **parts,
    }
    return Experiment.model_validate_json(json.dumps(document))


def search(folder: Path, **parts: Any) -> Experiment:
    """Return a search past two hurdles, without fine-tuning."""
    pretraining = {"tokens": 2560, "seeds": [1], "hurdle": HURDLES}
    return experiment(folder, **{"design": SEARCH, "pretraining": pretraining, "fine_tuning": {}, **parts})


def small_table(folder: Path, **parts: Any) -> Experiment:
    """Return the table at one seed and one task."""
    return experiment(folder, **{"pretraining": {"tokens": 2560, "seeds": [1]}, "fine_tuning": SMALL, **parts})


def small_search(folder: Path) -> Experiment:
    """Return a search of three cohorts."""
    return search(folder, design={**SEARCH, "max_candidates": 6, "cohort": 2})


def policy_search(folder: Path, **design: Any) -> Experiment:
    """Return a search whose candidates a policy pauses at four rungs and continues."""
    chosen = {
        "max_candidates": 19,
        "policy": "progressive_hurdles",
        "tournament": EVOLUTION,
        "trainings": 3,
        **design,
    }
    hurdle = {"kind": "pause", "rungs": [320, 640, 1280, 1920]}
    pretraining = {"tokens": 2560, "seeds": [1], "hurdle": hurdle, "audit": {"share": 0.2}}
    return search(folder, design={"kind": "search", "space": SPACE, **chosen}, pretraining=pretraining)


def small_policy_search(folder: Path) -> Experiment:
    """Return a search of a policy that starts three candidates or four."""
    hurdle = {"kind": "pause", "rungs": [640, 1280]}
    pretraining = {"tokens": 2560, "seeds": [1], "hurdle": hurdle}
    design = {
        "kind": "search",
        "space": SPACE,
        "max_candidates": 5,
        "policy": "progressive_hurdles",
        "tournament": EVOLUTION,
        "trainings": 2,
    }
    return search(folder, design=design, pretraining=pretraining)


@contextmanager
def opened(path: Path) -> Iterator[Ledger]:
    """Open a ledger for a moment."""
    with closing(Ledger(path)) as ledger:
        yield ledger


def folder_of(parent: Path, name: str) -> Path:
    """Create a subfolder."""
    (parent / name).mkdir()
    return parent / name


def chance_of(*parts: object) -> float:
    """Return a number from 0 to 1 that depends on the parts alone."""
    return int.from_bytes(sha256(repr(parts).encode()).digest()[:6], "big") / 2**48


def curve(work: StageTask) -> Outcome | Failure:
    """Return the outcome of a stage: losses that fall and cross, deterministic in candidate and seed."""
    told = work.stage.declaration
    if not isinstance(told, PretrainStage):
        found = {**PLAUSIBLE[work.stage.kind]}
        if isinstance(told, FineTuneStage):  # the driver adds the rest
            found = {"examples": DEV_EXAMPLES}
        return Outcome(Status.FINISHED, found, 1.0)
    candidate, tokens = canonical_text(canonical(told.candidate)), told.to_step * TOKENS_PER_STEP
    start, slope = chance_of(candidate, told.seed), chance_of(candidate, "slope")
    loss = 8 + start - (1 + slope) * tokens / 2560
    points: list[Any] = [[tokens, loss]]
    result = {"tokens": tokens, "held_out_loss": loss, "held_out_curve": points, "train_curve": points}
    return Outcome(Status.FINISHED, result, 1.0)


def diverged(work: StageTask) -> Outcome:
    """Return the outcome of a diverged stage."""
    tuned = isinstance(work.stage.declaration, FineTuneStage)
    return Outcome(Status.DIVERGED, {"step": 1, "loss": "nan"} if tuned else {"tokens": 64, "loss": "nan"}, 1.0)


@dataclass
class Track:
    """A simulated run: a store, a ledger, and an executor that finishes stages in random order."""

    experiment: Experiment
    folder: Path
    answer: Callable[[StageTask], Outcome | Failure] = curve
    workers: int = 3
    order: random.Random = field(default_factory=lambda: random.Random(1))
    ledger_type: Callable[[Path], Ledger] = Ledger
    ledger_path: Path | None = None
    """`:memory:` to keep the ledger in memory."""
    computed: list[str] = field(default_factory=list)
    """Keys of the stages that were computed, in order."""
    left: int | None = None
    """Stages that still end before the driver is killed."""
    publishes: bool = True
    """Whether results are written to the store."""
    last: Snapshot | None = None
    reuse: tuple[Path, ...] = ()
    """Results folders whose finished trials are taken over."""

    @property
    def store(self) -> ArtifactStore:
        return ArtifactStore(self.folder / "stages")

    def run(self) -> Snapshot:
        """Run, or resume from the ledger."""
        self.store.root.mkdir(parents=True, exist_ok=True)
        path = self.ledger_path or self.folder / "ledger.sqlite"
        with closing(self.ledger_type(path)) as ledger:
            for name, value in (("experiment", "simulated"), ("scale", "whole"), ("document", {}), ("labels", [])):
                ledger.set_fact(name, value)
            run_stages(self.journal(ledger), self.executor(), self.reporter)
            self.last = snapshot(ledger)
            return self.last

    def journal(self, ledger: Ledger) -> Journal:
        """Return the journal over a ledger, nothing written yet."""
        reuse(ledger, self.folder, self.reuse)
        rows = reused_rows(self.folder, ledger)
        store = self.store
        store.lenders = tuple(ArtifactStore(source / "stages") for source in self.reuse)
        return Journal(self.experiment, shared_stages(self.experiment), store, ledger, rows)

    def executor(self) -> Executor:
        """Return the executor."""
        return SimulatedExecutor(self)

    def reporter(self, progress: RunProgress) -> AbstractContextManager[Callable[[], None]]:
        """Show nothing."""
        return no_progress_reports(progress)

    def end(self, work: StageTask) -> Outcome | Failure:
        """Return the outcome of a stage, after writing it to the store."""
        if self.left == 0:
            raise Killed
        self.left = None if self.left is None else self.left - 1
        end = self.answer(work)
        if isinstance(end, Outcome):
            self.computed.append(work.stage.key)
            if self.publishes:
                publish(self.store, work, end)
        return end


class SimulatedExecutor:
    """Finishes one running task at a time, in random order."""

    def __init__(self, track: Track) -> None:
        self._track = track
        self._running: list[StageTask] = []

    def __enter__(self) -> "SimulatedExecutor":
        return self

    def __exit__(self, *raised: object) -> None:
        """End nothing."""

    @property
    def busy(self) -> bool:
        """Whether a task is running."""
        return bool(self._running)

    def accepts(self, task: StageTask) -> bool:
        return len(self._running) < self._track.workers

    def start(self, task: StageTask, following: Sequence[StageTask]) -> None:
        self._running.append(task)

    def end_worker(self, task: StageTask, holder: Holder | None) -> bool:
        return False

    def finished(self) -> list[tuple[StageTask, Outcome | Failure]]:
        task = self._running.pop(self._track.order.randrange(len(self._running)))
        return [(task, self._track.end(task))]


def publish(store: ArtifactStore, work: StageTask, end: Outcome) -> None:
    """Write a stage to the store as a worker does, with the files that the driver reads."""
    with store.computing(work.stage.key) as folder:
        if work.stage.kind == "examples":
            (folder / "dev").mkdir(exist_ok=True)
            save_examples(encoded_examples(), folder / "dev")
        if isinstance(work.stage.declaration, FineTuneStage):
            told = (work.trial, work.label)  # not the key, which depends on the machine
            guesses = [int(chance_of(*told, number) < 0.5) for number in range(DEV_EXAMPLES)]
            (folder / predictions_file("dev")).write_text(json.dumps(guesses))
        store.publish(work.stage.kind, work.stage.key, folder, end)


def found(snapshot: Snapshot) -> dict[str, Any]:
    """Return everything that a table is made from, without what the order of ends may change."""
    arms = [(arm.name, arm.position, arm.cohort, arm.identity) for arm in snapshot.arms]
    trials = {
        history.trial.name: (
            history.status,
            {record.label: (record.key, record.status, record.result.as_json) for record in history.records},
            [(one.level, one.cleared, one.value, one.threshold, one.references) for one in history.decisions],
        )
        for history in snapshot.histories
    }
    return {"arms": arms, "trials": trials, "shared": {record.label: record.key for record in snapshot.shared}}


def encoded_examples() -> EncodedExamples:
    rows = np.arange(DEV_EXAMPLES * 4, dtype=np.int32).reshape(DEV_EXAMPLES, 4)  # no two alike
    labels = np.asarray([number % 2 for number in range(DEV_EXAMPLES)], dtype=np.int32)
    nothing = np.full(DEV_EXAMPLES, -1, dtype=np.int32)
    offsets = np.zeros((DEV_EXAMPLES, 0, 2), dtype=np.int32)
    return EncodedExamples(rows, rows, np.full_like(nothing, 4), labels, nothing, nothing, offsets, (), (), 0, 0)
