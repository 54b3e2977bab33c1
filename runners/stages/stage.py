"""A stage: what is to be done, from which earlier stages, and the key under which its result is kept."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import version
from typing import ClassVar

from foundation.schema import JsonValue, Schema, canonical, fingerprint
from models.kernels.native.build import arithmetic

THREADS = 1  # per stage: two threads sum in another order and give other bits


@cache
def installed_version(library: str) -> str:
    """Return a distribution's version; reading it anew takes milliseconds, and every key asks."""
    return version(library)


class StageDeclaration(Schema):
    """What one kind of stage needs to be told; everything in it enters the key."""

    stage: ClassVar[str]
    """The kind of stage, and the file in this folder that computes it."""
    code_version: ClassVar[int]
    """Raised whenever the stage's code changes its numbers."""
    libraries: ClassVar[tuple[str, ...]] = ()
    """Distributions whose version changes the stage's numbers."""
    uses_kernels: ClassVar[bool] = False
    """Whether a model computes in it, so that the operators that do so change the last bits of its numbers."""
    exclusive: ClassVar[bool] = False
    """Whether nothing else may run on the machine beside it, because its result is a time."""
    hashed_instead: ClassVar[dict[str, str]] = {}
    """Fields that hold paths, with the field that says what lies there; the path itself never enters the key."""


@dataclass(frozen=True)
class Stage:
    """A declaration and the stages whose results it reads, by the name under which it reads them."""

    declaration: StageDeclaration
    inputs: Mapping[str, "Stage"] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The kind of stage: a name in `runners.stages.declarations.KINDS`."""
        return self.declaration.stage

    @cached_property
    def key(self) -> str:
        """Return the fingerprint of everything that changes the result, and of nothing else."""
        said = canonical(self.declaration)
        for path_field in self.declaration.hashed_instead:
            said.pop(path_field, None)
        environment: dict[str, JsonValue] = {name: installed_version(name) for name in self.declaration.libraries}
        if self.declaration.uses_kernels:
            environment["operators"] = arithmetic()
        return fingerprint(
            {
                "stage": self.kind,
                "code_version": self.declaration.code_version,
                "threads": THREADS,
                "libraries": environment,
                "declaration": said,
                "inputs": {name: stage.key for name, stage in self.inputs.items()},
            }
        )

    def needs(self) -> Iterator["Stage"]:
        """Yield every stage that must be finished first, the earliest first."""
        for stage in self.inputs.values():
            yield from stage.needs()
            yield stage


@dataclass(frozen=True)
class Job:
    """A stage as it crosses to a worker: plain text and folder names."""

    stage: str
    key: str
    declaration: str
    """JSON of the declaration."""
    inputs: Mapping[str, tuple[str, str]]
    """Name to (kind, key) of the stages that are read."""
    store: str
    """The folder of the stage store."""

    @classmethod
    def of(cls, stage: Stage, store: str) -> "Job":
        """Return the job that computes a stage."""
        inputs = {name: (source.kind, source.key) for name, source in stage.inputs.items()}
        return cls(stage.kind, stage.key, stage.declaration.model_dump_json(), inputs, store)
