"""A downstream task: its form, labels, metrics, chance level and source of examples."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tasks.corpora.document import Document
from tasks.splits import LoadedSplit, Split

TRAIN_EXAMPLES = 4000
DEV_EXAMPLES = 1000
"""How many are made from documents where an experiment names no number."""

Version = Literal["v1.1", "v2.0"]
"""Of SQuAD."""

Form = Literal["single", "pair", "span", "windows"]
"""`windows`: answers inside texts that may be longer than a sequence."""


Method = Literal["fine_tune", "linear_probe", "minimal_pairs"]
"""How an encoder is evaluated on a task, by the name of the stage.

`fine_tune` trains all weights. Two leave them frozen: `linear_probe` fits a linear classifier of words on a layer
(Tenney et al. 2019, arXiv 1905.06316); `minimal_pairs` scores two sentences by the pretraining head (Salazar et al.
2020, arXiv 1910.14659).
"""


@dataclass(frozen=True, slots=True)
class Example:
    """One example: one or two texts, and its target: a label, a value, or a span (start, end) of `second`.

    For a linear probe, `first` consists of words with one space between them, and each has a tag. Of a minimal pair,
    `first` is the acceptable sentence and `second` the unacceptable one.
    """

    first: str
    second: str | None = None
    label: int | None = None
    answer: tuple[int, int] | None = None
    source: str = ""  # the module it was made from; never in both train and dev
    value: float | None = None  # the answer of a task that asks for a number
    row: str = ""  # what its file calls it; a submission gives it back
    tags: tuple[int, ...] = ()  # of each word, an index into the task's labels
    group: str = ""  # of a minimal pair: the phenomenon, by which accuracies are reported too

    @property
    def answer_text(self) -> str:
        """Return the text of the answer's span."""
        assert self.second is not None
        assert self.answer is not None
        return self.second[slice(*self.answer)]


@dataclass(frozen=True, slots=True)
class Examples:
    """Train and dev examples of a task; if built from documents, the two share no module."""

    train: tuple[Example, ...]
    dev: tuple[Example, ...]
    others: Mapping[str, tuple[Example, ...]] = field(default_factory=dict)
    """Further parts that are predicted, by name: an unlabelled test, a second dev set."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """By part, the rows that hold no example; each is counted, none is lost."""


BuildExamples = Callable[[Sequence[Document], int, int], Examples]


@dataclass(frozen=True, slots=True)
class Part:
    """The examples of one file, and how many of its rows hold none."""

    examples: tuple[Example, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class TaskFiles:
    """Where a task of published files lies and how a file of it is read."""

    folder: str  # its name in the official layout
    parts: Mapping[str, str]  # part -> the file's name, or a pattern that one file matches; train and dev first
    origin: str  # download page of the files, for messages
    read: Callable[[str, Path, str], Part] | None
    """Called with the part, its file, and what messages call the file; raises DataError.

    None where a file holds no examples that stand by themselves: SQuAD's are read whole.
    """
    counts: Mapping[str, int]  # the examples of each official part, to predict time by
    needed: tuple[str, ...] = ("train", "dev")
    splits: Mapping[str, Split] = field(default_factory=dict)
    """Where `datasets` has each part."""
    read_split: Callable[[str, LoadedSplit, str], Part] | None = None
    """As `read`, of a split's columns."""
    unlabelled: frozenset[str] = frozenset()
    """Parts that others mark: they are predicted for a submission alone."""
    collection: str = ""  # the folder that the official layout is often kept in, beside those of other collections


def folder_within(root: Path, folder: str, collection: str = "") -> Path:
    """Return a task's folder under a root, or under its collection's there; the root itself where neither is."""
    within = (root / folder, root / collection / folder)
    return next((each for each in within if each.is_dir()), root)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Metrics of a file of predictions."""

    metrics: Mapping[str, float | int]
    """By their official names, on the scale of the official script: GLUE's from -1 to 1, SQuAD's from 0 to 100."""
    remarks: tuple[str, ...] = ()
    """For the error stream: what a reader should know of how the figures came about."""


Evaluate = Callable[[Path, Path, Path | None], Evaluation]
"""From the data (a folder or a labelled file), a file of predictions and, in SQuAD 2.0, one of null odds.

Raises DataError with every mistake of a file.
"""


@dataclass(frozen=True, slots=True)
class DownstreamTask:
    """What a task's file declares as `TASK`; `version` is raised whenever the same source gives other examples.

    Its examples come from documents (`build`) or from published files (`files`): one of the two is given.
    """

    name: str
    version: int
    form: Form
    labels: tuple[str, ...]  # empty for spans; a label is an index into it
    metrics: tuple[str, ...]  # the first is the primary one
    chance: float  # a share from 0 to 1, of the primary metric, without reading the text
    build: BuildExamples | None = None
    """Called with the test split's documents, the train count and the dev count; raises DataError if too few."""
    files: TaskFiles | None = None
    value_range: tuple[float, float] | None = None
    """The least and the greatest answer of a task that asks for a number; it has no labels."""
    squad: Version | None = None
    """Whose files it reads and by whose rules it is scored, where its form is `windows`."""
    shortest_sequence: int = 0
    """Tokens below which nothing of it fits."""
    long_sequences: bool = False
    """Whether it reads long texts, so that it begins behind `recipe.long_sequence_share` where there is one."""
    unordered: bool = False
    """Whether the task is symmetric in the two texts of a pair."""
    method: Method = "fine_tune"
    """`form` then is `single` for a linear probe, `pair` for minimal pairs."""
    ngram_reference: bool = False
    """Whether an n-gram model of the pretraining text is scored as a reference; for minimal pairs it always is."""
    evaluate: Evaluate | None = None
    """Scores a file of predictions by the official metrics, where the task has files."""

    def limit(self, part: Literal["train", "dev"], most: int | None) -> int | None:
        """Return the maximum number of examples of a part if the experiment sets `most`; None for all.

        Minimal pairs have no train part, and None for it.
        """
        if part == "train" and self.method == "minimal_pairs":
            return None
        if most is not None or self.files is not None:
            return most
        return TRAIN_EXAMPLES if part == "train" else DEV_EXAMPLES

    def expected(self, part: Literal["train", "dev"], most: int | None) -> int:
        """Return how many examples of a part there will be, by the official counts."""
        if part == "train" and self.method == "minimal_pairs":
            return 0
        limit, available = self.limit(part, most), self.files.counts[part] if self.files else None
        counts = [count for count in (limit, available) if count is not None]
        return min(counts)

    @property
    def outputs(self) -> int:
        """Return how many numbers the head gives for a text: one per label, or the value."""
        return 1 if self.value_range is not None else len(self.labels)

    @property
    def chance_score(self) -> float:
        """Return the chance level on the scale of `score`, from 0 to 100."""
        return 100 * self.chance
