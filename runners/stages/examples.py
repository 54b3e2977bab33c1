"""The encoded examples of a downstream task, and the scores of its reference models."""

from typing import Any, ClassVar

from runners.stages.stage import Stage, StageDeclaration
from runners.task_sources import limited, task_source
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning_runs import settings_of
from steeplechase.configuration.text_generation import TextGeneration
from steeplechase.foundation.schema import Count, JsonValue
from steeplechase.tasks.dataset_folder import PublishedData
from steeplechase.tasks.labelled.task import DownstreamTask
from steeplechase.tasks.lexicon.synonyms import Synonyms
from steeplechase.tasks.own_tasks import StageTask, task_named
from steeplechase.tasks.own_tasks.table import TableFiles
from steeplechase.tasks.tokenizer import TokenizerDeclaration


class ExamplesStage(StageDeclaration):
    """Build and encode the examples of one downstream task.

    Reads `tokens` (vocabulary) and, for tasks built from documents, `corpus`.
    """

    stage: ClassVar[str] = "examples"
    code_version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ("tokenizers", "scikit-learn")
    hashed_instead: ClassVar[dict[str, str]] = {
        "data": "read",
        "synonyms": "synonyms_read",
        "source_tokenizer": "source_tokenizer_read",
    }
    task: str
    task_version: int
    train_examples: Count | None
    dev_examples: Count | None
    """Maximum number of examples; None for all."""
    sequence_length: Count
    data: PublishedData | TableFiles | None = None
    read: JsonValue = None
    """The sha256 of each of the task's files, if it has files."""
    swap_pairs: bool = False
    """Whether the training pairs are also trained on with their texts swapped."""
    own_task: StageTask | None = None
    """The task, if the experiment declares it."""
    synonyms: Synonyms | None = None
    """The synonyms of words, for a rarified task."""
    synonyms_read: JsonValue = None
    """The content hash of the synonyms."""
    source_tokenizer: TokenizerDeclaration | None = None
    """What learns the vocabulary of sources from those of training; None: they have the vocabulary of `tokens`."""
    source_tokenizer_read: JsonValue = None
    """The training settings of that vocabulary, or the content hash of its file."""
    source_vocabulary_size: Count | None = None
    """Of that vocabulary."""

    @property
    def downstream(self) -> DownstreamTask:
        """The task."""
        return task_named(self.task, self.own_task)

    @classmethod
    def of(cls, experiment: Experiment, name: str, documents: Stage, tokens: Stage) -> Stage:
        """Return the stage of a task, read from its files or from documents. Raises DataError."""
        settings, source = settings_of(experiment.fine_tuning, name), task_source(experiment.fine_tuning, name)
        task, data = source.task, source.data
        declaration = cls(
            task=name,
            task_version=task.version,
            train_examples=limited(source, "train", settings.train_examples),
            dev_examples=limited(source, "dev", settings.dev_examples),
            sequence_length=settings.sequence_length,
            data=data,
            read=data.inputs(task.files) if data and task.files else None,
            swap_pairs=settings.swap_pairs and task.unordered,
            own_task=source.own_task,
            synonyms=source.synonyms,
            synonyms_read=None if source.synonyms is None else source.synonyms.inputs(),
            **(_source_vocabulary(experiment, settings.generation) if task.form == "text_pair" else {}),
        )
        return Stage(declaration, {"tokens": tokens} if task.files else {"corpus": documents, "tokens": tokens})


def _source_vocabulary(experiment: Experiment, generation: TextGeneration) -> dict[str, Any]:
    """Return the fields of examples whose sources have a vocabulary of their own; none if they have not."""
    new = generation.source_encoder
    if new is None or new.vocabulary_size is None:
        return {}
    tokenizer = new.tokenizer or experiment.tokenizer
    read = {"source_tokenizer": tokenizer, "source_tokenizer_read": tokenizer.inputs()}
    return {**read, "source_vocabulary_size": new.vocabulary_size}
