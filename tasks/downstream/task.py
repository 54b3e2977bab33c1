"""A downstream task: what a pretrained model is asked after fine-tuning, with its metrics and its chance level."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tasks.corpora.document import Document
from tasks.squad.questions import Version

Form = Literal["single", "pair", "span", "windows"]
"""`windows`: answers inside texts that may be longer than a sequence."""


@dataclass(frozen=True, slots=True)
class Example:
    """One question: a text, or two; and its answer, a label or a character span (start, end) in `second`."""

    first: str
    second: str | None = None
    label: int | None = None
    answer: tuple[int, int] | None = None
    source: str = ""  # the module it was made from; never in both train and dev

    @property
    def answer_text(self) -> str:
        """Return the text of the answer's span."""
        assert self.second is not None
        assert self.answer is not None
        return self.second[slice(*self.answer)]


@dataclass(frozen=True, slots=True)
class Examples:
    """What a model is fine-tuned on and what it is judged by; the two share no module."""

    train: tuple[Example, ...]
    dev: tuple[Example, ...]


BuildExamples = Callable[[Sequence[Document], int, int], Examples]


@dataclass(frozen=True, slots=True)
class DownstreamTask:
    """What a task's file declares as `TASK`; `version` is raised whenever the same documents give other examples."""

    name: str
    version: int
    form: Form
    labels: tuple[str, ...]  # empty for spans; a label is an index into it
    metrics: tuple[str, ...]  # the first is the primary one
    chance: float  # a share from 0 to 1, of the primary metric, without reading the text
    build: BuildExamples | None = None
    """Called with the test split's documents, the train count and the dev count; raises DataRefused if too few.

    None where the examples come from files.
    """
    squad: Version | None = None
    """Which of SQuAD's files it reads from `fine_tuning.data`."""
    shortest_sequence: int = 0
    """Tokens below which nothing of it fits."""
    lengthened: bool = False
    """Whether it reads long texts, so that it begins behind `recipe.lengthening_share` where there is one."""

    @property
    def chance_score(self) -> float:
        """Return the chance level on the scale of `score`, from 0 to 100."""
        return 100 * self.chance
