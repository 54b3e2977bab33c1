"""An experiment: a question, a baseline, what varies, and what may be spent on the answer. Pure data, no torch."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from runners.designs import Design, Search
from runners.designs.arm import Arm
from runners.hurdles import Finite, HurdleRule
from runners.start import Start, differing_fields, read_start
from search_space.candidate import Candidate
from search_space.change import ImpossibleChange, absolute_path
from search_space.declaration import Count, Declaration, JsonValue, Name, Number, PositiveNumber, Seed, canonical
from search_space.refusals import Refusal
from search_space.violation import Violation
from tasks.corpora.corpus import Corpus
from tasks.corpora.documentation import DocumentationCorpus
from tasks.downstream import task_names
from tasks.tokenizer import TokenizerDeclaration, WordPieceTraining

ORDERING = r"^\S+( [>~] \S+)+$"


class PaperStatement(Declaration):
    """What a paper says on the question, in our words, with its source."""

    source: str
    statement: str
    orderings: tuple[Annotated[str, Field(pattern=ORDERING)], ...] = Field(
        default=(), examples=[["span_dynamic > dynamic ~ bottleneck"]]
    )
    """What the statement says of the arms: `a > b`, a is better; `a ~ b`, level within the margin."""
    margins: Mapping[str, PositiveNumber] = Field(default_factory=dict, examples=[{"score": 1.0}])
    """By metric: the largest difference that still counts as level."""


class Pretraining(Declaration):
    """The first stage: how many tokens, on which seeds, past which hurdles, measured on what."""

    tokens: Count = Field(examples=[1_000_000])
    seeds: tuple[Seed, ...] = Field(min_length=1, examples=[[1, 2, 3]])
    hurdle: HurdleRule = Field(default_factory=Finite)
    held_out_sequences: Count = 256
    """Held-out sequences that every arm is asked the same questions about."""
    evaluations: Count = 8
    """Points of the held-out curve between the hurdles, the last one included."""
    reference_generator_tokens: Count = 1_000_000
    """Tokens the generator that corrupts the held-out set is trained on (replaced token detection only)."""
    start: str | None = None
    """A folder that `steeplechase import` has written: every arm's encoder begins with its weights."""


class FineTuning(Declaration):
    """The second stage: which tasks each pretrained model is asked, and how it is taught them."""

    tasks: tuple[str, ...] = ()
    seeds: tuple[Seed, ...] = Field(default=(1,), min_length=1)
    corpus: Corpus | None = None
    """Where the tasks' documents come from; the pretraining corpus where none is named."""
    train_examples: Count = 4000
    dev_examples: Count = 1000
    sequence_length: Count = 128
    epochs: Count = 3
    batch_examples: Count = 32
    peak_learning_rate: PositiveNumber = 3e-4  # ELECTRA-Small and ConvBERT, release defaults
    pooling: Literal["first", "mean"] = "first"
    """What a label is read from: the [CLS] vector, as the releases do, or the mean over the tokens."""
    warmup_share: Number = Field(default=0.1, ge=0, lt=1)
    weight_decay: Number = Field(default=0.01, ge=0)
    dropout: Number = Field(default=0.1, ge=0, lt=1)


class Experiment(Declaration):
    """One question at one scale."""

    experiment: Name = Field(examples=["table2"])
    question: str = Field(min_length=1, max_length=400, examples=["How should convolution be joined to attention?"])
    paper: PaperStatement | None = None
    baseline: Candidate
    design: Design
    corpus: Corpus = Field(default_factory=DocumentationCorpus)
    tokenizer: TokenizerDeclaration = Field(default_factory=WordPieceTraining)
    pretraining: Pretraining
    fine_tuning: FineTuning = Field(default_factory=FineTuning)
    tracking: str | None = None
    """An MLflow tracking URI; the store under the results where none is named."""

    @cached_property
    def arms(self) -> tuple[Arm, ...]:
        """The arms that are known before anything has run, the baseline first."""
        return self.design.candidates(self.baseline)

    def identity(self) -> dict[str, JsonValue]:
        """Return everything that changes a number, and nothing else; the order of tasks does not."""
        document = canonical(self)
        for presentation in ("question", "paper", "tracking"):
            document.pop(presentation, None)
        if not isinstance(self.design, Search):  # what the arms are, however they were written down
            document["design"] = {arm.name: canonical(arm.candidate) for arm in self.arms}
        tuning = document.get("fine_tuning")
        if isinstance(tuning, dict) and "tasks" in tuning:
            tuning["tasks"] = [*sorted(self.fine_tuning.tasks)]
        return document

    def violations(self) -> Iterator[Violation]:
        """Yield every rule that the values break together."""
        broken = [violation.under("baseline") for violation in self.baseline.violations()]
        yield from broken
        if not broken:
            yield from (violation.under("design") for violation in self.design.violations(self.baseline))
            yield from self._ordering_violations()
            yield from self._start_violations()
        yield from self._pretraining_violations()
        yield from self._fine_tuning_violations()

    def _ordering_violations(self) -> Iterator[Violation]:
        try:
            known = {arm.name for arm in self.arms}
        except ImpossibleChange:
            return  # the design's own violations say why
        for position, ordering in enumerate(self.paper.orderings if self.paper else ()):
            for name in ordering.split(" ")[::2]:
                if name not in known:
                    message = f"{name!r} is not an arm. Allowed: {', '.join(sorted(known))}"
                    yield Violation(("paper", "orderings", position), message)

    def _start_violations(self) -> Iterator[Violation]:
        """Yield why the start's weights are not those of every arm."""
        place = ("pretraining", "start")
        if self.pretraining.start is None:
            return
        try:
            start = read_start(Path(self.pretraining.start))
            yield from self._other_architectures(start)
            if self.tokenizer.inputs() != start.vocabulary:
                yield Violation(("tokenizer",), start.remedy)
        except ImpossibleChange:
            return  # the design's own violations say why
        except Refusal as refusal:
            yield from (Violation(place, line) for line in refusal.lines)

    def _other_architectures(self, start: Start) -> Iterator[Violation]:
        if isinstance(self.design, Search):
            for path in self.design.space:
                if absolute_path(path)[0] == "architecture":
                    message = "would change the architecture, which pretraining.start fixes"
                    yield Violation(("design", "space", path), message)
        for arm in self.arms:
            for field in differing_fields(start.architecture, arm.candidate.architecture):
                message = f"{arm.name} cannot begin from {start.folder}: {field}"
                yield Violation(("pretraining", "start"), message)

    def _pretraining_violations(self) -> Iterator[Violation]:
        marks, tokens = self.pretraining.hurdle.token_marks, self.pretraining.tokens
        place = ("pretraining", "hurdle")
        for position, mark in enumerate(marks):
            if position and mark <= marks[position - 1]:
                message = f"{mark} does not come after {marks[position - 1]}; marks rise strictly"
                yield Violation((*place, "marks", position), message)
            if mark >= tokens:
                message = f"{mark} is not before the end of pretraining at {tokens} tokens"
                yield Violation((*place, "marks", position), message)
        if marks and not isinstance(self.design, Search):
            message = "would stop declared rows of a table; allowed here: finite. Did you mean design.kind search?"
            yield Violation((*place, "kind"), f"{self.pretraining.hurdle.kind} {message}")
        yield from _repeated(self.pretraining.seeds, ("pretraining", "seeds"))
        length = self.baseline.recipe.sequence_length
        if self.pretraining.tokens < self.baseline.recipe.tokens_per_step:
            message = f"{tokens} tokens are less than one update of {self.baseline.recipe.batch_sequences} x {length}"
            yield Violation(("pretraining", "tokens"), message)

    def _fine_tuning_violations(self) -> Iterator[Violation]:
        known = task_names()
        for position, task in enumerate(self.fine_tuning.tasks):
            if task not in known:
                message = f"{task!r} is not a task. Allowed: {', '.join(known)}"
                yield Violation(("fine_tuning", "tasks", position), message)
        yield from _repeated(self.fine_tuning.tasks, ("fine_tuning", "tasks"))
        yield from _repeated(self.fine_tuning.seeds, ("fine_tuning", "seeds"))
        positions = self.baseline.architecture.positions
        if self.fine_tuning.tasks and self.fine_tuning.sequence_length > positions:
            message = (
                f"{self.fine_tuning.sequence_length} is longer than the {positions} positions of the architecture"
            )
            yield Violation(("fine_tuning", "sequence_length"), message)


def _repeated(values: tuple[int | str, ...], place: tuple[str | int, ...]) -> Iterator[Violation]:
    for position, value in enumerate(values):
        if value in values[:position]:
            yield Violation((*place, position), f"{value!r} stands twice")
