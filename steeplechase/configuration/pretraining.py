"""`pretraining:`, token budget, seeds, hurdle and its audit, and evaluation set of pretraining.

The audit of a hurdle is an untruncated control sample of the stopped trials, drawn by seed and name alone. Early
rungs favour candidates that learn fast at first (So et al. 2019 compare at unequal budgets; arXiv 2508.14818 measures
it). The final values of stopped trials estimate how often a hurdle is wrong.
"""

import math
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from search_space.candidate import Candidate
from steeplechase.configuration.hurdles.rungs import Finite, Hurdle
from steeplechase.configuration.seeds import Seeds, first_seeds
from steeplechase.foundation.randomness import stream_seed
from steeplechase.foundation.schema import LARGEST_COUNT, OPTION, Count, Schema, Seed

PositiveShare = Annotated[float, Field(gt=0, le=1)]


class Audit(Schema):
    """Trains a random share of the stopped trials to the end, to estimate the hurdle's error rate."""

    share: PositiveShare = 0.1
    """Share of the stopped trials that is trained to the end, rounded up."""
    seed: Seed = 0
    """Seed of the draw of the trials to audit."""

    def chosen(self, stopped: Iterable[str]) -> tuple[str, ...]:
        """Return the names of the trials to audit, independent of the order in which they were stopped."""
        names = sorted(set(stopped))
        shuffled = sorted(names, key=lambda name: (stream_seed(self.seed, f"audit of {name}"), name))
        return tuple(sorted(shuffled[: math.ceil(len(names) * self.share - 1e-9)]))


class Pretraining(Schema):
    """Token budget, seeds, hurdle and evaluation set of pretraining."""

    tokens: Annotated[int, Field(ge=0, le=LARGEST_COUNT)] = Field(examples=[1_000_000])
    """Training tokens of every arm, multiplied by its `token_share`. 0: nothing is pretrained; every arm is
    fine-tuned from its initial checkpoint."""
    seeds: Seeds = Field(examples=[[1, 2, 3]])
    """Pretraining seeds; with 0 tokens, the seeds of fine-tuning. A list, a number (`3` is 1, 2, 3), a range (`1-5`),
    or `until_decided`: further seeds for arms whose comparison the first ones leave undecided."""
    hurdle: Annotated[Hurdle, OPTION] = Field(default_factory=Finite)
    """Early stopping of a search's trials at rungs; `finite` stops diverged trials only."""
    checkpoints: tuple[Count, ...] = Field(default=(), examples=[[500000]])
    """Token counts at which a stage of pretraining ends, beside the rungs: a longer budget with the same ones
    continues the trainings of a shorter one. Up to there a training is that of a budget of so many tokens; the
    schedule must not depend on the budget before."""
    audit: Audit | None = None
    """Trains a random sample of the stopped trials to the end, to estimate how often the hurdle is wrong."""
    held_out_sequences: Count = 256
    """Sequences of the held-out evaluation set, from 4% of the text: 256 of 64 tokens need about 1.6 MB of text."""
    evaluation_sets: Literal["shared", "by_objective"] = "shared"
    """`shared`: one evaluation set for every arm; an arm whose objective or vocabulary gives another held-out loss is
    refused. `by_objective`: such an arm is measured on a set of its own, and compared on tasks alone."""
    evaluations: Count = 8
    """Points of the held-out curve between two rungs, the last one included."""
    reference_generator_tokens: Count = 1_000_000
    """Training tokens of the generator that corrupts the held-out set (replaced token detection only)."""
    init_checkpoint: str | None = None
    """A folder written by `steeplechase import`, or a Hugging Face folder, which is imported first: every arm's
    encoder is initialised with its weights, where the arm names no other."""
    evaluation_reference: Candidate | None = None
    """The candidate whose length, recipe, objective and generator make the evaluation set; by default the baseline.

    Every arm is evaluated on this one set, however it corrupts its own training text, but for those of which
    `evaluation_sets` allows others. Experiments with different baselines and the same reference have the same
    evaluation set, and so share the results of common arms.
    """

    @field_validator("seeds")
    @classmethod
    def _has_seeds(cls, seeds: Seeds, read: ValidationInfo) -> Seeds:
        if seeds == () and read.data.get("tokens", 1):
            raise ValueError("0 items are too few; at least 1 needed")
        return seeds

    @property
    def losses_compare(self) -> bool:
        """Whether the held-out losses of all arms are on one evaluation set."""
        return self.evaluation_sets == "shared"

    @property
    def has_trials(self) -> bool:
        """Whether any model is trained or fine-tuned: a trial is an arm at a seed."""
        return bool(first_seeds(self.seeds))

    @property
    def rung_tokens(self) -> tuple[int, ...]:
        """Token counts at which trials are compared before the end of their training."""
        return self.hurdle.rungs_of(self.tokens)

    @property
    def stage_ends(self) -> tuple[int, ...]:
        """Token counts at which the stages of a trial's pretraining end: rungs and checkpoints, then the budget."""
        return (*sorted({*self.rung_tokens, *self.checkpoints}), self.tokens)

    @property
    def budgets(self) -> tuple[int, ...]:
        """The budgets that a training passes, the last one its own: points of the held-out curve are of the next."""
        return (*self.checkpoints, self.tokens)


NO_TRIALS = Pretraining(tokens=0, seeds=())
"""Of an experiment that trains nothing."""
