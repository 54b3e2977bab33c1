"""The overlap of a task's dev examples with the pretraining text."""

from typing import ClassVar

from runners.stages.examples import ExamplesStage
from runners.stages.stage import Stage, StageDeclaration
from steeplechase.foundation.schema import Count, JsonValue
from steeplechase.tasks.dataset_folder import PublishedData
from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.own_tasks import StageTask, task_named
from steeplechase.tasks.own_tasks.table import TableFiles


class ContaminationStage(StageDeclaration):
    """Count the dev examples of a task that overlap with the pretraining text.

    Reads `corpus` and, for tasks built from documents, `documents`.
    """

    stage: ClassVar[str] = "contamination"
    code_version: ClassVar[int] = 1
    hashed_instead: ClassVar[dict[str, str]] = {"data": "read"}
    task: str
    task_version: int
    train_examples: Count | None
    dev_examples: Count | None
    data: PublishedData | TableFiles | None
    read: JsonValue
    own_task: StageTask | None = None

    @property
    def downstream(self) -> DownstreamTask:
        """The task."""
        return task_named(self.task, self.own_task)

    @classmethod
    def of(cls, examples: Stage, corpus: Stage) -> Stage:
        """Return the stage of the task of a stage of examples."""
        declaration = examples.declaration
        assert isinstance(declaration, ExamplesStage)
        source = {"documents": examples.inputs["corpus"]} if "corpus" in examples.inputs else {}
        fields = {name: getattr(declaration, name) for name in cls.model_fields}
        return Stage(cls(**fields), {"corpus": corpus, **source})
