"""Declaration of a downstream task: form, labels, metrics, chance level and source of examples."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from steeplechase.tasks.corpora.document import Document
from steeplechase.tasks.splits import LoadedSplit, Split

TRAIN_EXAMPLES = 4000
DEV_EXAMPLES = 1000
"""Default numbers of examples that are built from documents."""

Version = Literal["v1.1", "v2.0"]
"""Version of SQuAD."""

Form = Literal["single", "pair", "span", "windows", "choice", "tags", "text_pair"]
"""Texts and target of an example: one text or two with a label or a value, or a question and its answer's context.

`span` contexts fit a sequence; `windows` splits longer ones into overlapping windows, as for SQuAD. `choice` is a
context with several endings, one of which is right. `tags` is a sequence of words, each with a tag.
`text_pair` is a source and the target text that is to be generated.
"""


HeadForm = Literal["single", "pair", "span", "windows", "choice", "tags"]
"""The forms that a head on an encoder predicts."""

Method = Literal["fine_tune", "linear_probe", "minimal_pairs"]
"""Evaluation method of a task, named as its stage.

`fine_tune` trains all weights. The other two evaluate the frozen encoder: `linear_probe` fits a linear classifier of
words on each layer (Tenney et al. 2019, arXiv 1905.06316); `minimal_pairs` scores two sentences with the pretraining
head (Salazar et al. 2020, arXiv 1910.14659).
"""


@dataclass(frozen=True, slots=True)
class Example:
    """One or two texts and a target: a label, a value, or a span (start, end) of the characters of `second`.

    Of a text pair, `first` is the source and `second` the target. Of tagged words, `first` is the words separated by
    one space. In a minimal pair, `first` is the acceptable sentence and `second` the unacceptable one. In a multiple
    choice, `first` is the context, `label` the index of the right ending.
    """

    first: str
    second: str | None = None
    label: int | None = None
    answer: tuple[int, int] | None = None
    source: str = ""  # module of the document it was built from; no module is in both train and dev
    value: float | None = None  # target of a regression task
    row: str = ""  # identifier in its file, which a submission repeats
    tags: tuple[int, ...] = ()  # per word, an index into the task's labels
    group: str = ""  # phenomenon of a minimal pair; accuracies are also reported by phenomenon
    endings: tuple[str, ...] = ()  # of a multiple choice

    @property
    def answer_text(self) -> str:
        """The text of the answer's span."""
        assert self.second is not None
        assert self.answer is not None
        return self.second[slice(*self.answer)]


@dataclass(frozen=True, slots=True)
class Examples:
    """Examples of a task by part; of examples built from documents, no module is in both train and dev."""

    train: tuple[Example, ...]
    dev: tuple[Example, ...]
    others: Mapping[str, tuple[Example, ...]] = field(default_factory=dict)
    """Further parts by name, which are predicted too: an unlabelled test set, a second dev set."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Number of rows without a usable example, by part."""


BuildExamples = Callable[[Sequence[Document], int, int], Examples]
"""From the documents of the test split, the number of train and of dev examples; raises DataError if too few."""


@dataclass(frozen=True, slots=True)
class Part:
    """The examples of one file, and the number of its rows without a usable example."""

    examples: tuple[Example, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class TaskFiles:
    """Location and reader of a task's published files."""

    folder: str  # folder name in the official layout
    parts: Mapping[str, str]  # by part: the file name, or a pattern that one file matches; train and dev first
    origin: str  # download page of the files, for messages
    read: Callable[[str, Path, str], Part] | None
    """Called with the part, its file, and the name of the file in messages; raises DataError.

    None for SQuAD, whose reader returns questions instead of examples.
    """
    read_questions: Callable[[str, Path, str], object] | None = field(default=None, kw_only=True)
    """Of a user's table read as SQuAD: called as `read`, returns a `SquadFile`."""
    counts: Mapping[str, int]  # number of examples of the official train and dev parts, to predict durations
    needed: tuple[str, ...] = ("train", "dev")
    splits: Mapping[str, Split] = field(default_factory=dict)
    """Configuration and split of each part in `datasets`."""
    read_split: Callable[[str, LoadedSplit, str], Part] | None = None
    """As `read`, for the columns of a split."""
    collection: str = ""  # optional parent folder of the official layout
    beside: Mapping[str, str] = field(default_factory=dict)
    """By part, a second file in the same folder, which `read` finds beside the first: the targets of the sources."""
    siblings: str = ""  # pattern of the files of a part, in the folder of its first one, all of which `read` reads


def folder_within(root: Path, folder: str, collection: str = "") -> Path:
    """Return the task's folder in `root` or in the folder of its collection; `root` if neither exists."""
    candidates = (root / folder, root / collection / folder)
    return next((candidate for candidate in candidates if candidate.is_dir()), root)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Metrics of a file of predictions."""

    metrics: Mapping[str, float | int]
    """By official name, on the scale of the official script: from -1 to 1 for GLUE, from 0 to 100 for SQuAD."""
    remarks: tuple[str, ...] = ()
    """Notes on how the metrics were computed, for the error stream."""


Evaluate = Callable[[Path, Path, Path | None], Evaluation]
"""Called with the data (a folder or a labelled file), a file of predictions and, in SQuAD 2.0, a file of null odds.

Raises DataError with all mistakes of a file.
"""


@dataclass(frozen=True, slots=True)
class DownstreamTask:
    """What a task declares: in a file of its own as `TASK`, of a group in `TASKS`.

    `version` is incremented when the same source gives other examples. Examples are built from documents (`build`) or
    read from published files (`files`); exactly one of the two is given.
    """

    name: str
    version: int
    form: Form
    labels: tuple[str, ...]  # names by label index; empty for spans and values; of a choice, one per ending
    metrics: tuple[str, ...]  # the first is the primary metric
    chance: float | None  # primary metric without reading the text, from 0 to 1; None: computed from the examples
    build: BuildExamples | None = None
    files: TaskFiles | None = None
    value_range: tuple[float, float] | None = None
    """Minimum and maximum of the target of a regression task, which has no labels."""
    squad: Version | None = None
    """The version of SQuAD that defines files and metrics, if the form is `windows`."""
    shortest_sequence: int = 0
    """Minimum sequence length in tokens."""
    long_sequences: bool = False
    """Whether texts are long, so that fine-tuning starts after the long-sequence phase of a recipe that has one."""
    unordered: bool = False
    """Whether the task is symmetric in the two texts of a pair."""
    method: Method = "fine_tune"
    """A linear probe requires the form `tags`, minimal pairs the form `pair`."""
    ngram_reference: bool = False
    """Whether an n-gram model of the pretraining text is a reference; of minimal pairs it always is."""
    trains_encoder: bool = True
    """Whether fine-tuning changes the encoder, and not only what reads its hidden states."""
    evaluate: Evaluate | None = None
    """Scores a file of predictions with the official metrics; None for tasks without files."""
    about: str = ""
    """What it asks, and its source; empty for a task with a file of its own, whose docstring says it."""

    def limit(self, part: Literal["train", "dev"], setting: int | None) -> int | None:
        """Return the maximum number of examples of a part; `setting` is that of the experiment. None for all.

        Minimal pairs have no train part; its maximum is None.
        """
        if part == "train" and self.method == "minimal_pairs":
            return None
        if setting is not None or self.files is not None:
            return setting
        return TRAIN_EXAMPLES if part == "train" else DEV_EXAMPLES

    def expected(self, part: Literal["train", "dev"], setting: int | None) -> int:
        """Return the number of examples of a part, as far as official counts and the limit determine it; else 0."""
        if part == "train" and self.method == "minimal_pairs":
            return 0
        limit, available = self.limit(part, setting), self.files.counts.get(part) if self.files else None
        counts = [count for count in (limit, available) if count is not None]
        return min(counts, default=0)

    @property
    def head_form(self) -> HeadForm:
        """The form of a task whose target is no text, so that a head predicts it."""
        assert self.form != "text_pair"
        return self.form

    @property
    def outputs(self) -> int:
        """The number of outputs of the head: one per label, or one for a value."""
        return 1 if self.value_range is not None else len(self.labels)

    @property
    def sequences_per_example(self) -> int:
        """The number of encoded sequences of one example: one, or one per ending of a multiple choice."""
        return len(self.labels) if self.form == "choice" else 1

    @property
    def chance_score(self) -> float | None:
        """The chance level on the scale of `score`, from 0 to 100; None if it depends on the examples."""
        return None if self.chance is None else 100 * self.chance
