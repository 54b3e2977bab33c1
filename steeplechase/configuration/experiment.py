"""An experiment: question, baseline, designs, budgets. Pure data, no torch."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from search_space.candidate import Candidate
from search_space.constraints import Constraint
from search_space.objective import Objective
from search_space.overrides import InvalidOverride, applied, apply
from steeplechase.analysis.difference import MeanTest
from steeplechase.configuration.arm import Arm
from steeplechase.configuration.arms import ArmTable, Rules, without_repeats
from steeplechase.configuration.claims import DeclaredClaim
from steeplechase.configuration.designs import Design, OneDesign, Search
from steeplechase.configuration.fine_tuning import FineTuning
from steeplechase.configuration.matched_budget import Match, add_matched_arms
from steeplechase.configuration.measurements import Measures, kinds
from steeplechase.configuration.plugin_folders import Plugins
from steeplechase.configuration.plugins import sources_of
from steeplechase.configuration.pretraining import NO_TRIALS, Pretraining
from steeplechase.configuration.tuning import Tune
from steeplechase.foundation.canonical import canonical
from steeplechase.foundation.recorded import ANY, Recorded
from steeplechase.foundation.schema import JsonValue, Name, PositiveNumber, Schema
from steeplechase.tasks.corpora.documentation import DocumentationCorpus
from steeplechase.tasks.corpora.option import Corpus
from steeplechase.tasks.lexicon.supersenses import Lexicon
from steeplechase.tasks.mentions.declaration import Mentions
from steeplechase.tasks.tokenizer import TokenizerDeclaration, WordPieceTraining


class Data(Schema):
    """A text, a vocabulary, or both, for arms with its name: `data: NAME`.

    Every arm is evaluated on the held-out text of the experiment's corpus. What its training text repeats of that is
    left out. Held-out losses are comparable for one vocabulary; arms with another are compared on tasks alone.
    """

    corpus: Corpus | None = None
    """The training text; by default the experiment's."""
    tokenizer: TokenizerDeclaration | None = None
    """The vocabulary, learned from this text or given as a file; by default the experiment's, of its own text."""


class PaperStatement(Schema):
    """A paper's statement on the question, paraphrased, with its source."""

    source: str
    """The paper, with the table or section."""
    statement: str
    """The paper's statement, paraphrased."""
    orderings: tuple[str, ...] = Field(default=(), examples=[["span_dynamic > dynamic ~ bottleneck"]])
    """Orderings of the arms in the statement: `a > b`, a is better; `a ~ b`, level within the margin. The report
    tests them like `claims`; quote a name with spaces.
    """
    metrics: tuple[str, ...] = Field(default=(), examples=[["score"]])
    """Metrics that the orderings are about: `held_out_loss`, `score` or a task; empty: every headline metric."""
    margins: Mapping[str, PositiveNumber] = Field(default_factory=dict, examples=[{"score": 1.0}])
    """By metric: the largest difference that counts as level."""
    table: str | None = Field(default=None, examples=["table3"])
    """Table in `search_space/released/systems/` whose published numbers are shown beside the measured ones."""
    rows: Mapping[str, str] = Field(default_factory=dict, examples=[{"baseline": "ELECTRA-Small"}])
    """By arm: the row of that table."""


SIZES_OF_PLANTED_TEXTS: Mapping[str, int] = {
    "classes": 3,
    "class_words": 11,
    "sentence_words": 12,
    "pair_words": 16,
    "sentence_pairs": 6,
    "period_words": 12,
    "different_words": 16,
}
"""Fields of an earlier version: the words of planted corpora, which are constants."""


class Experiment(Recorded):
    """An experiment at one scale."""

    removed: ClassVar[Mapping[str, JsonValue]] = {
        "forecast": ANY,
        "match.measured_in": None,
        "tune.sampler": "qmc",
        "tune.seed": 0,
        **{f"corpus.{name}": size for name, size in SIZES_OF_PLANTED_TEXTS.items()},
    }

    experiment: Name = Field(examples=["table2"])
    """The experiment's name: part of its results folder and of its study in MLflow."""
    question: str = Field(min_length=1, max_length=400, examples=["How should convolution be joined to attention?"])
    """The research question, in one sentence; the report begins with it."""
    paper: PaperStatement | None = None
    """A paper's statement on the question; the report tests it."""
    plugins: Plugins = Field(default=(), examples=[["../my_plugin"]])
    """Folders of own parts, relative to this file; each has `search_space/`, `models/`, `tasks/` or `runners/`."""
    baseline: Candidate
    """The candidate that every arm is compared with."""
    design: Design
    """The candidates to compare: one design, or a list of designs whose arms are concatenated."""
    constraints: tuple[Constraint, ...] = Field(default=(), examples=[["bottleneck_ratio <= heads"]])
    """Constraints on every candidate beyond the architecture's own rules."""
    on_invalid: Literal["refuse", "skip"] = "refuse"
    """`refuse`: an impossible point is an error; `skip`: it is left out, and listed by `plan` and the report."""
    match: Match | None = None
    """Adds a copy of every arm at the baseline's budget (budget-matched arms)."""
    tune: Tune | None = None
    """Tunes the recipe of every arm first, at the same points; reports show the shared and the tuned recipes."""
    corpus: Corpus = Field(default_factory=DocumentationCorpus)
    """The pretraining text; by default the installed documentation."""
    tokenizer: TokenizerDeclaration = Field(default_factory=WordPieceTraining)
    """The vocabulary: learned from the corpus, or given as a file."""
    data: Mapping[Name, Data] = Field(default_factory=dict, examples=[{"bytes": {"tokenizer": {"kind": "byte_bpe"}}}])
    """Other texts and vocabularies by name, for arms or an axis `data`; the baseline has `corpus` and `tokenizer`."""
    lexicon: Lexicon | None = None
    """The supersenses of words, for arms with supersense embeddings."""
    mentions: Mentions | None = None
    """Where the text mentions entities, for arms with the objective `entity_replacement`."""
    pretraining: Pretraining = NO_TRIALS
    """Pretraining budget, seeds, hurdle and evaluation; an experiment that only measures latencies has none."""
    fine_tuning: FineTuning = Field(default_factory=FineTuning)
    """Downstream tasks and how models are fine-tuned on them."""
    measure: Measures = Field(default_factory=Measures)
    """Measurements of the arms beyond losses and scores."""
    comparison: Annotated[MeanTest, Field(strict=False)] = MeanTest.WELCH
    """How arms are compared over seeds: `welch`, or `paired` where an earlier experiment showed that seeds pair."""
    headline_metrics: tuple[Literal["held_out_loss", "score"], ...] = Field(
        default=("held_out_loss", "score"), min_length=1, examples=[["score"]]
    )
    """Metrics of the finding and the verdicts. Of both, the score is tested only of arms whose held-out loss differs;
    `[score]` where nothing is said by the loss, such as after a nominal pretraining.
    """
    target_loss: PositiveNumber | None = Field(default=None, examples=[3.5])
    """Held-out loss in nats; the report compares the tokens and FLOPs at which arms first reach it. By
    default the lowest that every seed of the baseline reaches which finished and left the plateau of the loss.
    """
    study: Name | None = Field(default=None, examples=["convolution-mixing"])
    """Experiments of one study: their claims are one family, corrected for each other where reports are published."""
    equivalence_margin: Mapping[str, PositiveNumber] = Field(default_factory=dict, examples=[{"held_out_loss": 0.02}])
    """By metric: the largest difference that counts as equivalent, where no paper has margins or others are needed.
    """
    claims: tuple[DeclaredClaim, ...] = Field(
        default=(), examples=[[{"metric": "score", "higher": "dynamic", "than": "depthwise", "by": 0.5}]]
    )
    """Expected results, registered before the run; the report tests each."""
    tracking: str | None = None
    """An MLflow tracking URI, such as a team's server; by default the store under the results."""

    @classmethod
    def of_former(cls, document: JsonValue) -> JsonValue:
        """Return a record of a former layout as one of today."""
        for measurement in kinds():
            document = measurement.of_former(document)
        return document

    @property
    def designs(self) -> tuple[OneDesign, ...]:
        """The designs in the order of their arms."""
        return self.design if isinstance(self.design, tuple) else (self.design,)

    @property
    def search(self) -> Search | None:
        """The search among the designs; arms of the other designs are its first candidates."""
        return next((design for design in self.designs if isinstance(design, Search)), None)

    @property
    def rules(self) -> Rules:
        """The rules for the points of all designs."""
        shared = self.fine_tuning.shared_training, self.pretraining.init_checkpoint
        return Rules(self.constraints, self.on_invalid == "skip", *shared)

    @cached_property
    def arm_table(self) -> ArmTable:
        """The arms that are known before the run, and the violations of the designs."""
        arm_table = ArmTable(self.baseline, self.rules)
        if arm_table.violations:
            return arm_table  # every arm breaks the rules that the baseline breaks
        for position, design in enumerate(self.designs):
            location = ("design", position) if isinstance(self.design, tuple) else ("design",)
            if isinstance(design, Search):
                violations = without_repeats([*design.violations(self.baseline)])
                arm_table.violations += [violation.under(*location) for violation in violations]
            else:
                arm_table.add_design(design, location)
        if self.match is not None and not arm_table.violations:
            arm_table.violations += add_matched_arms(arm_table, self.match, self.pretraining.tokens)
        return arm_table

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms that are known before the run, the baseline first. Raises InvalidOverride."""
        if self.arm_table.violations:
            raise InvalidOverride(self.arm_table.violations)
        return tuple(self.arm_table.arms)

    @cached_property
    def accepted_arms(self) -> tuple[Arm, ...]:
        """`arms`, or none where the baseline or a design is refused, whose own violations say why."""
        refused = any(True for _ in self.baseline.violations()) or self.arm_table.violations
        return () if refused else self.arms

    @property
    def has_trials(self) -> bool:
        """Whether any model is trained; otherwise arms are only measured, outside trials."""
        return self.pretraining.has_trials

    @property
    def pretrains(self) -> bool:
        """Whether there is any pretraining; otherwise trials are fine-tunings of initial checkpoints."""
        return self.pretraining.tokens > 0

    def initial_checkpoint(self, candidate: Candidate) -> str | None:
        """Return the folder of a candidate's initial checkpoint; None for a random initialisation."""
        return candidate.init_checkpoint or self.pretraining.init_checkpoint

    @property
    def may_grow(self) -> bool:
        """Whether arms may be added to its ledger.

        A search or tuning has decided for the first arms only; without trials there is nothing to keep.
        """
        return self.search is None and self.tune is None and self.has_trials

    @property
    def impossible_points(self) -> list[JsonValue]:
        """The impossible points that were left out, each as its name and its reasons."""
        return [[point.name, *point.reasons] for point in self.arm_table.impossible]

    def with_parts(self, **parts: Any) -> "Experiment":
        """Return a copy with other sections, whose rules are not checked, and nothing that was computed before."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_construct(self.model_fields_set | parts.keys(), **{**fields, **parts})

    def identity(self) -> dict[str, JsonValue]:
        """Return every field that changes a result, and no other; the order of tasks changes none."""
        document = canonical(self)
        for presentation in (
            "question",
            "paper",
            "comparison",
            "headline_metrics",
            "target_loss",
            "study",
            "equivalence_margin",
            "claims",
            "tracking",
            "on_invalid",
        ):
            document.pop(presentation, None)
        for name, measurement in self.measure.declared.items():
            for field in measurement.presentation:
                _inside(document, "measure", name).pop(field, None)
        document.pop("plugins", None)  # their sources enter below, where they are used
        if self.search is None:  # the resulting arms, independent of the designs that declare them
            document["design"] = {arm.name: _with_sources(arm.candidate) for arm in self.arms}
            for key in ("constraints", "match"):
                document.pop(key, None)
        fine_tuning = document.get("fine_tuning")
        if isinstance(fine_tuning, dict):
            fine_tuning.pop("max_overlap", None)  # a limit that changes no result
            if "tasks" in fine_tuning:
                fine_tuning["tasks"] = [*sorted(self.fine_tuning.tasks)]
        sources = sources_of(
            (self.baseline, self.corpus, *self.data.values(), self.fine_tuning), self.fine_tuning.tasks
        )
        if self.search is not None and self.plugins:  # which options it will propose is not known
            sources["plugins"] = [plugin.sha256 for plugin in self.plugins]
        return {**document, "sources": sources} if sources else document


def _inside(document: JsonValue, *path: str) -> dict[str, JsonValue]:
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}


def _with_sources(candidate: Candidate) -> dict[str, JsonValue]:
    sources = sources_of(candidate)
    return {**canonical(candidate), **({"sources": sources} if sources else {})}


def objectives_of(experiment: Experiment) -> Iterator[Objective]:
    """Yield the objectives of the baseline, of all accepted arms, and of all candidates that a search may propose."""
    yield experiment.baseline.objective
    yield from (arm.candidate.objective for arm in experiment.accepted_arms)
    yield from searched_objectives(experiment)


def searched_objectives(experiment: Experiment) -> Iterator[Objective]:
    """Yield the objectives at the points of a search's axes of objectives, whose rules other axes may fulfil."""
    search = experiment.search
    for point in search.objective_points if search else ():
        with suppress(InvalidOverride):  # the design's own violations say why
            change = apply if search is not None and search.is_of_objectives else applied
            yield change(experiment.baseline, point).objective
