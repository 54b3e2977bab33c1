"""An experiment: a question, a baseline, what varies, and what may be spent on the answer. Pure data, no torch."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from runners.claims import UnclearClaim, parse_claim, unknown_names
from runners.designs import Design, OneDesign, Search
from runners.designs.arm import Arm
from runners.designs.roster import Roster, Rules
from runners.hurdles import Finite, HurdleRule
from runners.hurdles.audit import Audit
from runners.matching import Match, enter_twins
from runners.sequential import Seeds
from runners.start import Start, differing_fields, read_start
from search_space.candidate import Candidate
from search_space.change import ImpossibleChange, absolute_path
from search_space.constraint import Constraint
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
    seeds: Seeds = Field(examples=[[1, 2, 3]])
    """A list, or `until_decided`: more seeds for what the first ones leave open."""
    hurdle: HurdleRule = Field(default_factory=Finite)
    audit: Audit | None = None
    """Which of the stopped are trained to the end all the same, to see how often a hurdle is wrong."""
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


class Forecast(Declaration):
    """A budget that nothing was trained on, to which the report draws the held-out curves on."""

    tokens: Count = Field(examples=[1_000_000_000])


class Experiment(Declaration):
    """One question at one scale."""

    experiment: Name = Field(examples=["table2"])
    question: str = Field(min_length=1, max_length=400, examples=["How should convolution be joined to attention?"])
    paper: PaperStatement | None = None
    baseline: Candidate
    design: Design
    constraints: tuple[Constraint, ...] = Field(default=(), examples=[["bottleneck_ratio <= heads"]])
    """What every candidate must satisfy beyond the architecture's own rules."""
    on_invalid: Literal["refuse", "skip"] = "refuse"
    """What becomes of an experiment with impossible points; `skip` records them and `plan` and the report say so."""
    match: Match | None = None
    """Gives every arm a twin of the baseline's budget."""
    corpus: Corpus = Field(default_factory=DocumentationCorpus)
    tokenizer: TokenizerDeclaration = Field(default_factory=WordPieceTraining)
    pretraining: Pretraining
    fine_tuning: FineTuning = Field(default_factory=FineTuning)
    level_within: Mapping[str, PositiveNumber] = Field(default_factory=dict, examples=[{"held_out_loss": 0.02}])
    """By metric: the largest difference that is none worth naming; over the paper's margins."""
    claims: tuple[str, ...] = Field(default=(), examples=[["score(dynamic) > score(depthwise) by 0.5"]])
    """What is expected of the results, written down before there are any; the report judges each."""
    forecast: Forecast | None = None
    tracking: str | None = None
    """An MLflow tracking URI; the store under the results where none is named."""

    @property
    def designs(self) -> tuple[OneDesign, ...]:
        """The designs in the order of their arms."""
        return self.design if isinstance(self.design, tuple) else (self.design,)

    @property
    def search(self) -> Search | None:
        """The search among the designs; the others' arms are its first candidates."""
        return next((design for design in self.designs if isinstance(design, Search)), None)

    @cached_property
    def roster(self) -> Roster:
        """The arms that are known before anything has run, and what is wrong with the designs."""
        roster = Roster(self.baseline, Rules(self.constraints, self.on_invalid == "skip"))
        if roster.violations:
            return roster  # what the baseline breaks, its arms break too
        for position, design in enumerate(self.designs):
            place = ("design", position) if isinstance(self.design, tuple) else ("design",)
            if isinstance(design, Search):
                roster.violations += [each.under(*place) for each in design.violations(self.baseline)]
            else:
                roster.enter(design, place)
        if self.match is not None and not roster.violations:
            roster.violations += enter_twins(roster, self.match, self.pretraining.tokens)
        return roster

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms that are known before anything has run, the baseline first. Raises ImpossibleChange."""
        if self.roster.violations:
            raise ImpossibleChange(self.roster.violations)
        return tuple(self.roster.arms)

    def identity(self) -> dict[str, JsonValue]:
        """Return everything that changes a number, and nothing else; the order of tasks does not."""
        document = canonical(self)
        for presentation in ("question", "paper", "level_within", "claims", "forecast", "tracking", "on_invalid"):
            document.pop(presentation, None)
        if self.search is None:  # what the arms are, however they were written down
            document["design"] = {arm.name: canonical(arm.candidate) for arm in self.arms}
            for shaping in ("constraints", "match"):
                document.pop(shaping, None)
        tuning = document.get("fine_tuning")
        if isinstance(tuning, dict) and "tasks" in tuning:
            tuning["tasks"] = [*sorted(self.fine_tuning.tasks)]
        return document

    def violations(self) -> Iterator[Violation]:
        """Yield every rule that the values break together."""
        broken = [violation.under("baseline") for violation in self.baseline.violations()]
        yield from broken
        if not broken:
            yield from self.roster.violations
            yield from self._search_violations()
            yield from self._ordering_violations()
            yield from self._claim_violations()
            yield from self._start_violations()
        yield from self._pretraining_violations()
        if self.forecast is not None and self.forecast.tokens <= self.pretraining.tokens:
            message = (
                f"{self.forecast.tokens} tokens are no further than pretraining.tokens, {self.pretraining.tokens}"
            )
            yield Violation(("forecast", "tokens"), message)
        yield from self._fine_tuning_violations()

    def _search_violations(self) -> Iterator[Violation]:
        searches = [position for position, design in enumerate(self.designs) if isinstance(design, Search)]
        for position in searches[1:]:
            yield Violation(("design", position), "a second search; an experiment has one")
        if searches and self.match is not None:
            message = "a search proposes its candidates later, so they have no twins. Did you mean constraints?"
            yield Violation(("match",), message)

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

    def _claim_violations(self) -> Iterator[Violation]:
        """Yield every claim that cannot be read, or is of arms or metrics that are not there."""
        try:
            arms = [arm.name for arm in self.arms]
        except ImpossibleChange:
            return  # the design's own violations say why
        tasks = sorted(self.fine_tuning.tasks)
        metrics = ["held_out_loss", *(["score"] if tasks else []), *tasks]
        for position, text in enumerate(self.claims):
            try:
                wrong = unknown_names(parse_claim(text), arms, metrics)
            except UnclearClaim as unclear:
                wrong = [str(unclear)]
            yield from (Violation(("claims", position), message) for message in wrong)

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
        if self.search is not None:
            for path in self.search.space:
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
        if marks and self.search is None:
            message = "would stop declared rows of a table; allowed here: finite. Did you mean design.kind search?"
            yield Violation((*place, "kind"), f"{self.pretraining.hurdle.kind} {message}")
        if self.pretraining.audit is not None and not marks:
            message = f"{self.pretraining.hurdle.kind} stops nobody before the end, so there is nobody to audit"
            yield Violation(("pretraining", "audit"), message)
        yield from self._probe_violations()
        yield from self._seed_violations()
        length = self.baseline.recipe.sequence_length
        if self.pretraining.tokens < self.baseline.recipe.tokens_per_step:
            message = f"{tokens} tokens are less than one update of {self.baseline.recipe.batch_sequences} x {length}"
            yield Violation(("pretraining", "tokens"), message)

    def _probe_violations(self) -> Iterator[Violation]:
        probe, known = self.pretraining.hurdle.probe, task_names()
        if probe is not None and probe.task not in known:
            message = f"{probe.task!r} is not a task. Allowed: {', '.join(known)}"
            yield Violation(("pretraining", "hurdle", "probe", "task"), message)

    def _seed_violations(self) -> Iterator[Violation]:
        seeds = self.pretraining.seeds
        if isinstance(seeds, tuple):
            yield from _repeated(seeds, ("pretraining", "seeds"))
            return
        place = ("pretraining", "seeds", "until_decided")
        if self.search is not None:
            yield Violation(place, "a search ranks candidates on equal seeds; list them. Write [1, 2, 3]")
        for metric in seeds.until_decided.margin:
            if metric != "held_out_loss":
                message = f"{metric!r} does not decide on seeds; allowed: held_out_loss"
                yield Violation((*place, "margin", metric), message)

    def _fine_tuning_violations(self) -> Iterator[Violation]:
        known = task_names()
        for position, task in enumerate(self.fine_tuning.tasks):
            if task not in known:
                message = f"{task!r} is not a task. Allowed: {', '.join(known)}"
                yield Violation(("fine_tuning", "tasks", position), message)
        yield from _repeated(self.fine_tuning.tasks, ("fine_tuning", "tasks"))
        yield from _repeated(self.fine_tuning.seeds, ("fine_tuning", "seeds"))
        positions = self.baseline.architecture.positions
        asked = bool(self.fine_tuning.tasks) or self.pretraining.hurdle.probe is not None
        if asked and self.fine_tuning.sequence_length > positions:
            message = (
                f"{self.fine_tuning.sequence_length} is longer than the {positions} positions of the architecture"
            )
            yield Violation(("fine_tuning", "sequence_length"), message)


def _repeated(values: tuple[int | str, ...], place: tuple[str | int, ...]) -> Iterator[Violation]:
    for position, value in enumerate(values):
        if value in values[:position]:
            yield Violation((*place, position), f"{value!r} stands twice")
