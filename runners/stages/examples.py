"""The encoded examples of a downstream task, with the scores of its reference models; reading them from its files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from runners.stages.stage import Stage, StageDeclaration
from runners.task_sources import limited, task_source
from steeplechase.configuration.experiment import Experiment
from steeplechase.configuration.fine_tuning import TextGeneration
from steeplechase.configuration.fine_tuning_runs import settings_of
from steeplechase.foundation.errors import ConflictError, DataError
from steeplechase.foundation.randomness import stream
from steeplechase.foundation.schema import Count, JsonValue
from steeplechase.tasks.corpora.assembly import read_documents
from steeplechase.tasks.dataset_folder import PublishedData
from steeplechase.tasks.labelled.task import DownstreamTask, Example, Examples
from steeplechase.tasks.lexicon.synonyms import Synonyms
from steeplechase.tasks.own_tasks import StageTask, task_named
from steeplechase.tasks.own_tasks.table import TableFiles
from steeplechase.tasks.tokenizer import TokenizerDeclaration

SAMPLING_SEED = 18040746  # arbitrary; the sample is independent of the seeds of an experiment


class TaskExamplesStage(StageDeclaration):
    """A stage that reads the examples of one downstream task."""

    hashed_instead: ClassVar[dict[str, str]] = {"data": "read"}
    task: str
    task_version: int
    train_examples: Count | None
    dev_examples: Count | None
    """Maximum number of examples; None for all."""
    data: PublishedData | TableFiles | None = None
    read: JsonValue = None
    """The sha256 of each of the task's files, if it has files."""
    own_task: StageTask | None = None
    """The task, if the experiment declares it."""

    @property
    def downstream(self) -> DownstreamTask:
        """The task."""
        return task_named(self.task, self.own_task)

    def examples(self, corpus: Path | None) -> Examples:
        """Return the examples, from the task's files or built from the documents of a corpus. Raises DataError."""
        task = self.downstream
        return self._from_documents(task, corpus) if task.files is None else self._from_files(task)

    def _from_documents(self, task: DownstreamTask, corpus: Path | None) -> Examples:
        assert task.build is not None
        assert corpus is not None
        assert self.dev_examples is not None
        documents = tuple(read_documents(corpus, "test"))
        examples = task.build(documents, self.train_examples or 0, self.dev_examples)
        if not examples.dev or (not examples.train and task.method != "minimal_pairs"):
            counts = f"{len(examples.train)} train and {len(examples.dev)} dev examples"
            message = f"{task.name}: build returned {counts} from {len(documents)} documents; it needs some of both"
            raise DataError(
                f"{message}. `steeplechase check FOLDER` measures a plugin's task on the experiment's corpus"
            )
        return examples

    def _from_files(self, task: DownstreamTask) -> Examples:
        """Return the examples of the files in their order; random samples of train and dev if they are limited."""
        assert task.files is not None
        assert self.data is not None
        parts = self.data.parts(task.files)
        self.refuse_changed()
        examples = {part: read.examples for part, read in parts.items()}
        train = _sample(examples.get("train", ()), self.train_examples)
        _refuse_one_label(task, train)
        dev = _sample(examples["dev"], self.dev_examples)
        left_out = {part: read.left_out for part, read in parts.items()}
        others = {part: examples[part] for part in examples if part not in ("train", "dev")}
        return Examples(train, dev, others, left_out)

    def refuse_changed(self) -> None:
        """Raise ConflictError if the hashes of the task's files are not those in the stage's key."""
        task = self.downstream
        assert task.files is not None
        assert self.data is not None
        if self.data.inputs(task.files) != self.read:
            raise ConflictError(f"the files of {task.name} changed after the run began; run again")


class ExamplesStage(TaskExamplesStage):
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
    sequence_length: Count
    swap_pairs: bool = False
    """Whether the training pairs are also trained on with their texts swapped."""
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


def _refuse_one_label(task: DownstreamTask, train: Sequence[Example]) -> None:
    """Raise DataError if a sample of the train examples has one label alone, from which nothing is learned."""
    labels = {example.label for example in train} - {None}
    if task.form in ("single", "pair") and task.method == "fine_tune" and len(labels) == 1:
        (only,) = labels
        raise DataError(
            f"{task.name}: all {len(train)} train examples that fine_tuning.train_examples leaves have the label "
            f"{task.labels[only or 0]!r}; training needs two different ones. Write a larger train_examples"
        )


def _sample(examples: tuple[Example, ...], limit: int | None) -> tuple[Example, ...]:
    """Return at most `limit` examples, drawn without replacement, in their order."""
    if limit is None or len(examples) <= limit:
        return examples
    chosen = stream(SAMPLING_SEED, "rows of a task").choice(len(examples), limit, replace=False)
    return tuple(examples[row] for row in sorted(chosen))
