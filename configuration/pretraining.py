"""`pretraining:`, how long and on which seeds the arms are pretrained, past which hurdles, measured on what."""

from pydantic import Field

from configuration.hurdles import Finite, HurdleRule
from configuration.hurdles.audit import Audit
from configuration.seeds import Seeds
from foundation.schema import Count, Schema
from search_space.candidate import Candidate


class Pretraining(Schema):
    """The first stage: how many tokens, on which seeds, past which hurdles, measured on what."""

    tokens: Count = Field(examples=[1_000_000])
    """Tokens that every arm is trained on, unless its `token_share` says otherwise."""
    seeds: Seeds = Field(examples=[[1, 2, 3]])
    """A list, or `until_decided`: more seeds for what the first ones leave open."""
    hurdle: HurdleRule = Field(default_factory=Finite)
    """Which trials of a search go on past a token mark; `finite` stops only what diverged."""
    audit: Audit | None = None
    """Which of the stopped are trained to the end all the same, to see how often a hurdle is wrong."""
    held_out_sequences: Count = 256
    """Held-out sequences that every arm is asked the same questions about."""
    evaluations: Count = 8
    """Points of the held-out curve between the hurdles, the last one included."""
    reference_generator_tokens: Count = 1_000_000
    """Tokens the generator that corrupts the held-out set is trained on (replaced token detection only)."""
    init_checkpoint: str | None = None
    """A folder that `steeplechase import` has written: every arm's encoder begins with its weights."""
    evaluation_reference: Candidate | None = None
    """Whose length, recipe and generator the held-out questions are made with; the baseline's where none is named.

    Experiments with different baselines ask the same questions, and so share their common rows, when they name one.
    """
