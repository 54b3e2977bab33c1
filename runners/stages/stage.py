"""A stage: a declaration, its input stages, and the key of its result in the stage store.

A kind of stage is one file of this folder: a class whose fields enter the key, how it follows from an experiment, and
how it is computed. Importing such a file imports no numerical library, because `plan` computes keys too.
"""

import os
import pkgutil
import socket
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar, Self

from runners.stages.context import StageContext
from search_space.candidate import Candidate
from search_space.module_factories import PACKAGES
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning_runs import FineTuningRun
from steeplechase.configuration.plugin_folders import COPIES, copied
from steeplechase.configuration.plugins import Plugin, plugin_of, sources_of
from steeplechase.foundation.canonical import canonical, fingerprint
from steeplechase.foundation.devices import Device, Precision, accelerator, is_gpu
from steeplechase.foundation.schema import JsonValue, Schema
from steeplechase.ledger.records import Record
from steeplechase.models.kernels.native.build import arithmetic
from steeplechase.tasks.downstream import find_task
from steeplechase.tasks.labelled.task import DownstreamTask

THREADS = 1  # per stage: the order of sums, and so the last bits of a result, depends on the number of threads
COMPILER = "inductor"  # of torch, whose version is part of the key


@cache
def installed_version(library: str) -> str:
    """Return the version of a distribution; cached: reading it takes milliseconds and every key needs it."""
    return version(library)


def this_driver() -> str:
    """Return the name of this process among the drivers that share a stage store."""
    return f"{socket.gethostname()}:{os.getpid()}"


class StageDeclaration(Schema):
    """Declaration of one kind of stage; its fields enter the key."""

    stage: ClassVar[str]
    """The kind of stage, and the name of its file in this folder."""
    code_version: ClassVar[int]
    """Incremented when a change of the code changes the result."""
    libraries: ClassVar[tuple[str, ...]] = ()
    """Distributions whose version may change the result."""
    uses_kernels: ClassVar[bool] = False
    """Whether the stage runs a model, so that the last bits of its result depend on the operators' implementation."""
    exclusive: ClassVar[bool] = False
    """Whether the stage needs the machine for itself, because its result is a time."""

    @property
    def processes(self) -> int:
        """Processes that compute the stage together, each of which counts as a worker."""
        return 1

    @property
    def trained(self) -> Candidate | None:
        """The candidate whose recipe the stage follows, if it has one."""
        return getattr(self, "candidate", None)

    @property
    def computes_on(self) -> Device:
        """The device of the model that the stage runs."""
        device: Device = getattr(self, "device", "cpu") if self.trained is None else self.trained.recipe.device
        return device

    @property
    def numerics(self) -> tuple[Precision, bool]:
        """The precision of matrix products, and whether a GPU computes deterministically."""
        if self.trained is not None:
            return self.trained.recipe.precision, self.trained.recipe.deterministic
        return getattr(self, "precision", "float32"), getattr(self, "deterministic", True)

    @property
    def compiled(self) -> bool:
        """Whether torch.compile makes the kernels of the stage."""
        return False

    hashed_at_default: ClassVar[tuple[str, ...]] = ()
    """Fields that always enter the key; other fields enter it unless they have their default value."""
    hashed_instead: ClassVar[dict[str, str]] = {}
    """Path fields, each with the field of the content hash that enters the key in its place."""

    @property
    def own_flops(self) -> float:
        """FLOPs in closed form, of a kind of stage that counts its own; else 0."""
        return 0.0

    def compute(self, context: StageContext) -> dict[str, JsonValue]:
        """Return the result; its files are in the context's folder. Raises Diverged.

        By the file of its name in `runners/computing/`, unless its own file computes it.
        """
        result: dict[str, JsonValue] = import_module(f"runners.computing.{self.stage}").compute(self, context)
        return result

    def refuse_beside(self, ledger: str, records: Iterable[Record]) -> None:
        """Raise ConflictError, with the differences, where a ledger's records cannot stand beside this stage's."""


class ArmsMeasurementStage(StageDeclaration):
    """A stage that measures all arms together, untrained and outside trials. Reads nothing."""

    @classmethod
    @abstractmethod
    def by_label(cls, experiment: Experiment) -> "dict[str, Stage]":
        """Return the stages of an experiment on this machine. Raises MachineError."""


class TaskStage(StageDeclaration):
    """A stage that evaluates an encoder on a downstream task, by the method that its kind is named for."""

    libraries: ClassVar[tuple[str, ...]] = ("torch", "numpy")
    uses_kernels: ClassVar[bool] = True
    task: str

    @property
    def downstream(self) -> DownstreamTask:
        """The task."""
        return find_task(self.task)

    @classmethod
    @abstractmethod
    def of(
        cls,
        experiment: Experiment,
        candidate: Candidate,
        seed: int,
        run: FineTuningRun,
        sources: "Mapping[str, Stage]",
    ) -> "Stage":
        """Return the stage of a candidate trained at a seed, which reads of the `sources` what it needs.

        They are `pretrained`, `examples`, `tokens` and, of a task with rare words, `word_embeddings`.
        """


class MeasurementStage(StageDeclaration):
    """A stage that measures a trained model. Reads `pretrained` and `tokens`."""

    libraries: ClassVar[tuple[str, ...]] = ("torch", "numpy")
    uses_kernels: ClassVar[bool] = True

    @classmethod
    @abstractmethod
    def of(cls, experiment: Experiment, candidate: Candidate, name: str | None, seed: int) -> Self:
        """Return what is measured of a candidate, by a name of `Measurement.names`. Raises DataError."""


@cache
def stage_class(kind: str) -> type[StageDeclaration]:
    """Return the class of a kind of stage, from its file."""
    module = import_module(f"runners.stages.{kind}")
    found: type[StageDeclaration] = next(each for each in vars(module).values() if _declares(each, kind))
    return found


@cache
def stage_kinds() -> Mapping[str, type[StageDeclaration]]:
    """Return every kind of stage: the files of this folder that declare one."""
    files = [each.name for each in pkgutil.iter_modules([str(Path(__file__).parent)])]
    modules = {name: vars(import_module(f"runners.stages.{name}")).values() for name in files}
    kinds = [name for name, found in modules.items() if any(_declares(each, name) for each in found)]
    return {name: stage_class(name) for name in kinds}


def _declares(value: object, kind: str) -> bool:
    return isinstance(value, type) and issubclass(value, StageDeclaration) and vars(value).get("stage") == kind


@dataclass(frozen=True)
class Stage:
    """A declaration and its input stages by name."""

    declaration: StageDeclaration
    inputs: Mapping[str, "Stage"] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The kind of stage, the name of its file."""
        return self.declaration.stage

    @cached_property
    def key(self) -> str:
        """The fingerprint of everything that affects the result."""
        return self.key_at(self.declaration.code_version)

    def key_at(self, code_version: int) -> str:
        """Return the key that the stage has at a version of its code."""
        declaration = canonical(self.declaration, self.declaration.hashed_at_default)
        for path_field in self.declaration.hashed_instead:
            declaration.pop(path_field, None)
        environment: dict[str, JsonValue] = {name: installed_version(name) for name in self.declaration.libraries}
        if self.declaration.uses_kernels:
            environment["operators"] = arithmetic()
        if is_gpu(self.declaration.computes_on):
            environment |= accelerator()
        if self.declaration.compiled:
            environment["compiler"] = COMPILER
        sources = self.sources  # absent without plugins, so that no other key depends on them
        return fingerprint(
            {
                **({"sources": sources} if sources else {}),
                "stage": self.kind,
                "code_version": code_version,
                "threads": THREADS,
                "libraries": environment,
                "declaration": declaration,
                "inputs": {name: stage.key for name, stage in self.inputs.items()},
            }
        )

    @property
    def sources(self) -> dict[str, JsonValue]:
        """The hashes of the source that the stage uses from plugins, by module; empty without any."""
        return sources_of(self.declaration, self._tasks)

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        """The plugins that the stage uses, or any of its inputs: a worker loads them."""
        found = (plugin for plugin in map(plugin_of, self.sources) if plugin is not None)
        return tuple(dict.fromkeys(found))

    @property
    def _tasks(self) -> tuple[str, ...]:
        task = getattr(self.declaration, "task", None)
        return (task,) if isinstance(task, str) else ()

    def needs(self) -> Iterator["Stage"]:
        """Yield all transitive input stages, in topological order."""
        for stage in self.inputs.values():
            yield from stage.needs()
            yield stage


@dataclass(frozen=True)
class Job:
    """A stage serialised for a worker process, as text."""

    stage: str
    key: str
    declaration: str
    """JSON of the declaration."""
    inputs: Mapping[str, tuple[str, str]]
    """(kind, key) of the input stages by name."""
    store: str
    """Folder of the stage store."""
    plugins: Sequence[tuple[str, str]] = ()
    """Folder and sha256 of the plugins that the stage uses."""
    objects: str = ""
    """URL of the object store that has the stages; `store` then has this machine's copies."""
    packages: Sequence[str] = ()
    """Packages outside plugins whose factories the user has allowed."""
    driver: str = ""
    """The run that asked for it, as `this_driver` names it."""

    @classmethod
    def of(cls, stage: Stage, store: str, objects: str = "") -> "Job":
        """Return the job that computes a stage."""
        inputs = {name: (source.kind, source.key) for name, source in stage.inputs.items()}
        plugins = [copied(plugin, Path(store).parent / COPIES) for plugin in stage.plugins]
        declaration, driver = stage.declaration.model_dump_json(), this_driver()
        return cls(stage.kind, stage.key, declaration, inputs, store, plugins, objects, [*PACKAGES], driver)
