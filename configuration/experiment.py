"""An experiment: a question, a baseline, what varies, what may be spent. Pure data, no torch."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from pydantic import Field, PrivateAttr

from configuration.arm import Arm
from configuration.arms import ArmTable, Rules, without_repeats
from configuration.claims import DeclaredClaim
from configuration.designs import Design, OneDesign, Search
from configuration.fine_tuning import FineTuning
from configuration.forecast import Forecast
from configuration.matched_budget import THROUGHPUT, Match, Throughput, add_matched_arms, nothing_measured
from configuration.measurements import Measures
from configuration.paper import PaperStatement
from configuration.pretraining import Pretraining
from configuration.tuning import Tune
from foundation.schema import JsonValue, Name, PositiveNumber, Schema, canonical
from search_space.candidate import Candidate
from search_space.constraints import Constraint
from search_space.overrides import InvalidOverride
from tasks.corpora.corpus import Corpus
from tasks.corpora.documentation import DocumentationCorpus
from tasks.tokenizer import TokenizerDeclaration, WordPieceTraining


class Experiment(Schema):
    """One question at one scale."""

    experiment: Name = Field(examples=["table2"])
    """The experiment's name: part of its results folder and of its study in MLflow."""
    question: str = Field(min_length=1, max_length=400, examples=["How should convolution be joined to attention?"])
    """What the experiment asks, in one sentence; the report begins with it."""
    paper: PaperStatement | None = None
    """What a paper says on the question, to be judged by the results."""
    baseline: Candidate
    """The candidate that every arm is compared with."""
    design: Design
    """Which candidates answer the question: one design, or several whose arms follow one another."""
    constraints: tuple[Constraint, ...] = Field(default=(), examples=[["bottleneck_ratio <= heads"]])
    """What every candidate must satisfy beyond the architecture's own rules."""
    on_invalid: Literal["refuse", "skip"] = "refuse"
    """What becomes of an experiment with impossible points; `skip` records them and `plan` and the report say so."""
    match: Match | None = None
    """Gives every arm a budget-matched copy of the baseline's budget."""
    tune: Tune | None = None
    """Tries every arm at the same few recipes first; the table shows arms at the shared recipe and at their own."""
    corpus: Corpus = Field(default_factory=DocumentationCorpus)
    """The pretraining text; the installed documentation where none is named."""
    tokenizer: TokenizerDeclaration = Field(default_factory=WordPieceTraining)
    """The vocabulary: learned from the corpus, or given as a file."""
    pretraining: Pretraining
    """How long and on which seeds the arms are pretrained."""
    fine_tuning: FineTuning = Field(default_factory=FineTuning)
    """Which downstream tasks the pretrained models are taught, and how."""
    measure: Measures = Field(default_factory=Measures)
    """What is measured of every trained model beyond losses and scores."""
    equivalence_margin: Mapping[str, PositiveNumber] = Field(default_factory=dict, examples=[{"held_out_loss": 0.02}])
    """By metric: the largest difference that is none worth naming; over the paper's margins."""
    claims: tuple[DeclaredClaim, ...] = Field(
        default=(), examples=[[{"metric": "score", "higher": "dynamic", "than": "depthwise", "by": 0.5}]]
    )
    """What is expected of the results, written down before there are any; the report judges each."""
    forecast: Forecast | None = None
    """A larger budget to extrapolate the held-out curves to."""
    tracking: str | None = None
    """An MLflow tracking URI; the store under the results where none is named."""

    _throughput: Throughput = PrivateAttr(default_factory=lambda: nothing_measured)

    def model_post_init(self, context: Any) -> None:
        """Take what reads measured times from the validation context."""
        if isinstance(context, Mapping):
            self._throughput = context.get(THROUGHPUT, nothing_measured)

    @property
    def designs(self) -> tuple[OneDesign, ...]:
        """The designs in the order of their arms."""
        return self.design if isinstance(self.design, tuple) else (self.design,)

    @property
    def search(self) -> Search | None:
        """The search among the designs; the others' arms are its first candidates."""
        return next((design for design in self.designs if isinstance(design, Search)), None)

    @cached_property
    def roster(self) -> ArmTable:
        """The arms that are known before anything has run, and what is wrong with the designs."""
        roster = ArmTable(self.baseline, Rules(self.constraints, self.on_invalid == "skip"))
        if roster.violations:
            return roster  # what the baseline breaks, its arms break too
        for position, design in enumerate(self.designs):
            place = ("design", position) if isinstance(self.design, tuple) else ("design",)
            if isinstance(design, Search):
                broken = without_repeats([*design.violations(self.baseline)])
                roster.violations += [each.under(*place) for each in broken]
            else:
                roster.enter(design, place)
        if self.match is not None and not roster.violations:
            roster.violations += add_matched_arms(roster, self.match, self.pretraining.tokens, self._throughput)
        return roster

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms that are known before anything has run, the baseline first. Raises InvalidOverride."""
        if self.roster.violations:
            raise InvalidOverride(self.roster.violations)
        return tuple(self.roster.arms)

    @property
    def may_grow(self) -> bool:
        """Whether arms may be added to its ledger: a search or tuning has decided for the arms there were."""
        return self.search is None and self.tune is None

    @property
    def impossible_points(self) -> list[JsonValue]:
        """The points that were left out, each as its name and its reasons."""
        return [[one.name, *one.reasons] for one in self.roster.impossible]

    def identity(self) -> dict[str, JsonValue]:
        """Return everything that changes a number, and nothing else; the order of tasks does not."""
        document = canonical(self)
        for presentation in (
            "question",
            "paper",
            "equivalence_margin",
            "claims",
            "forecast",
            "tracking",
            "on_invalid",
        ):
            document.pop(presentation, None)
        if self.search is None:  # what the arms are, however they were written down
            document["design"] = {arm.name: canonical(arm.candidate) for arm in self.arms}
            for shaping in ("constraints", "match"):
                document.pop(shaping, None)
        tuning = document.get("fine_tuning")
        if isinstance(tuning, dict):
            tuning.pop("max_overlap", None)  # it refuses, and changes no number
            if "tasks" in tuning:
                tuning["tasks"] = [*sorted(self.fine_tuning.tasks)]
        return document
