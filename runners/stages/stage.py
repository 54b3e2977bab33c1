"""A stage: a declaration, its input stages, and the key of its result in the store."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import version
from typing import ClassVar

from foundation.schema import JsonValue, Schema, canonical, fingerprint
from models.kernels.native.build import arithmetic

THREADS = 1  # per stage, because the order of sums, and so the last bits, depend on the number of threads


@cache
def installed_version(library: str) -> str:
    """Return a distribution's version, cached because reading it takes milliseconds and every key needs it."""
    return version(library)


class StageDeclaration(Schema):
    """Declaration of one kind of stage; its fields enter the key."""

    stage: ClassVar[str]
    """The kind of stage, and the file in this folder that computes it."""
    code_version: ClassVar[int]
    """Raised when a change of the code changes the stage's numbers."""
    libraries: ClassVar[tuple[str, ...]] = ()
    """Distributions whose version changes the stage's numbers."""
    uses_kernels: ClassVar[bool] = False
    """Whether it computes with a model, so that its last bits depend on the implementation of the operators."""
    exclusive: ClassVar[bool] = False
    """Whether nothing else may run on the machine beside it, because its result is a time."""
    hashed_at_default: ClassVar[tuple[str, ...]] = ()
    """Fields that enter the key whatever their value; any other does unless it is at its default."""
    hashed_instead: ClassVar[dict[str, str]] = {}
    """Path fields, with the field that has the content hash; only the latter enters the key."""


@dataclass(frozen=True)
class Stage:
    """A declaration and its input stages, by name."""

    declaration: StageDeclaration
    inputs: Mapping[str, "Stage"] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The kind of stage, a name in `declarations.KINDS`."""
        return self.declaration.stage

    @cached_property
    def key(self) -> str:
        """Return the fingerprint of everything that affects the result."""
        said = canonical(self.declaration, self.declaration.hashed_at_default)
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
        """Yield all transitive input stages, in topological order."""
        for stage in self.inputs.values():
            yield from stage.needs()
            yield stage


@dataclass(frozen=True)
class Job:
    """A serialised stage for a worker: plain text and folder names."""

    stage: str
    key: str
    declaration: str
    """JSON of the declaration."""
    inputs: Mapping[str, tuple[str, str]]
    """Name to (kind, key) of the input stages."""
    store: str
    """The folder of the stage store."""

    @classmethod
    def of(cls, stage: Stage, store: str) -> "Job":
        """Return the job that computes a stage."""
        inputs = {name: (source.kind, source.key) for name, source in stage.inputs.items()}
        return cls(stage.kind, stage.key, stage.declaration.model_dump_json(), inputs, store)
