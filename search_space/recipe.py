"""Training recipe: batch, optimiser, learning rate, regularisation. Defaults: ELECTRA-Small, arXiv 2003.10555."""

from collections.abc import Iterator
from math import inf
from numbers import Real
from typing import Literal

from pydantic import Field

from search_space.batch_warm_up import BatchWarmUp, Phase, phases, sequences_before, updates_with
from search_space.optimiser import AdamW, Optimiser
from search_space.pruning import Pruning
from search_space.schedule import LinearSchedule, Schedule
from steeplechase.foundation.devices import Device, Precision
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.randomness import stream_seed
from steeplechase.foundation.schema import Count, PositiveNumber, Schema, Share

SHORTEST_SEQUENCE = 8  # tokens; room for two texts and their special tokens
LENGTHENED = 512  # tokens; the longest that BERT's position table holds
ADAPTIVE_ONLY = ("adam_beta1", "adam_beta2", "adam_epsilon")
"""Parameters of the optimisers that estimate moments."""


class Recipe(Schema):
    """Everything about training that is neither the architecture nor the objective nor the budget."""

    sequence_length: Count = 128
    """Tokens of a sequence, [CLS] and [SEP] included."""
    batch_sequences: Count = 128
    """Sequences of a batch; every update is one batch."""
    batch_warm_up: BatchWarmUp | None = Field(default=None, examples=[{"initial_sequences": 32, "tokens": 500000}])
    """Batches that grow to `batch_sequences` at first; long sequences have whole ones. None: no
    batch is smaller."""
    micro_batches: Count = 1
    """Gradient accumulation: the parts of a batch that are computed one after another, which saves memory.

    The gradient is that of the whole batch, averaged over all its predictions; the last bits differ, and so do the
    patterns of dropout.
    """
    processes: Count = 1
    """Processes of one machine that train a model together, each on a part of every batch (data parallelism).

    The gradient is that of the whole batch, as with `micro_batches`; the last bits differ, and so do the patterns of
    dropout and the samples of a generator. Pretraining alone uses them; each counts as a worker.
    """
    optimiser: Optimiser = Field(default_factory=AdamW)
    """The rule of an update."""
    peak_learning_rate: PositiveNumber = 5e-4
    """Learning rate at the end of the warm-up, before the schedule's decay."""
    schedule: Schedule = Field(default_factory=LinearSchedule)
    """The learning rate over the tokens.

    `linear` and `cosine` decay to zero, `warmup_stable_decay` does over the last part, `inverse_square_root` decays
    without an end, and `constant` stays at its peak.
    """
    weight_decay: float = Field(default=0.01, ge=0)
    """Weight decay of matrices; normalisations and biases have none, but the biases of `relative` positions, which
    have a row per head, count as matrices (XLNet's release leaves them out).

    It is part of the gradient (L2 regularisation) in `adam` and `sgd`, and decoupled in all others.
    """
    adam_beta1: float = Field(default=0.9, ge=0, lt=1)
    """Decay rate of the first moment; of all optimisers but `sgd`."""
    adam_beta2: float = Field(default=0.999, ge=0, lt=1)
    """Decay rate of the second moment; of all optimisers but `sgd`."""
    adam_epsilon: PositiveNumber = 1e-6
    """Epsilon in the update's denominator; of all optimisers but `sgd`. Default: ELECTRA's release."""
    gradient_norm_limit: PositiveNumber = 1.0
    """Gradient clipping: the largest global norm. Default: ELECTRA's release."""
    device: Device = "cpu"
    """Device of the training; part of the recipe because results differ bitwise between devices."""
    deterministic: bool = True
    """Whether a GPU repeats a result bit for bit, which some of its operators pay with time; processors always do."""
    compile: bool | None = Field(default=None, examples=[False])
    """Whether torch.compile makes few kernels of the encoder and the loss of pretraining, with CUDA graphs.

    By default on GPUs, except for an architecture of kind `module`, and where shapes differ from batch to batch:
    denoising, `batch_warm_up` and `mask_rate_schedule`. The last bits differ, and so do the patterns of dropout.
    """
    precision: Precision = "float32"
    """Precision of matrix products and what lies between them; weights, updates and losses stay in float32.

    `tensorfloat32` rounds the factors of matrix products alone, on GPUs that have it (Ampere and newer).
    """
    activation_checkpointing: Literal["none", "selective", "full"] = "none"
    """Activations saved for the backward pass; the rest is recomputed, which saves memory and costs time. `selective`
    saves matrix products alone; with `sharing`, and in a stack with a recurrent layer, it is `full`."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout probability of hidden values and of attention weights."""
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    """Share of each target's probability that is spread over the vocabulary; of encoder–decoders, in pretraining and
    in tasks of a source and a target (arXiv 1706.03762, section 5.4)."""
    token_share: PositiveNumber = 1.0
    """Tokens that this candidate is trained on, as a share of the experiment's; a matched budget may change it."""
    long_sequence_share: Share = 0.0
    """Further updates at `long_sequence_length`, as a share of all before, for the tasks that read long texts.

    ConvBERT continued for 10% before SQuAD (arXiv 2008.02496). The updates continue from the end of pretraining, at
    the rates of the schedule for the longer budget.
    """
    long_sequence_length: Count = LENGTHENED
    """Tokens of a sequence in the updates of `long_sequence_share`. Default: BERT's position table."""
    pruning: Pruning | None = Field(default=None, examples=[{"parameters_share": 0.8}])
    """Pruning of the trained encoder, before everything that reads it; None: none."""
    noise_seed: int = Field(default=0, ge=0, le=2**32 - 1)
    """Changes the random draws (weights, batches, masks) and nothing else.

    Replicas are equal in expectation, so a table of replicas shows the noise of the other tables.
    """

    @property
    def tokens_per_step(self) -> int:
        """Tokens in one update, of a batch of the whole size."""
        return self.sequence_length * self.batch_sequences

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The updates by the size of their batches, in order."""
        return phases(self.batch_warm_up, self.batch_sequences, self.sequence_length)

    @property
    def smallest_batch(self) -> int:
        """Sequences of the smallest batch, of which every batch has one or several."""
        return self.batch_sequences if len(self.phases) == 1 else self.phases[0].batch_sequences

    def batch_of(self, update: int) -> range:
        """Return the sequences of the update that follows `update` updates, numbered from the start of training."""
        return range(sequences_before(update, self.phases), sequences_before(update + 1, self.phases))

    def first_update_after(self, tokens: int) -> int:
        """Return the first update before which at least so many tokens were read: its number of updates before."""
        return updates_with(-(-tokens // self.sequence_length), self.phases)

    def tokens_after(self, updates: int) -> int:
        """Return the tokens of the first `updates` updates."""
        return self.sequence_length * sequences_before(updates, self.phases)

    def own_tokens(self, tokens: int) -> int:
        """Return the candidate's share of the experiment's tokens, to the nearest whole one."""
        return tokens if self.token_share == 1 else max(1, round(tokens * self.token_share))

    def steps(self, tokens: int) -> int:
        """Return the updates that see at least the candidate's share of `tokens` tokens."""
        return self.first_update_after(self.own_tokens(tokens))

    def tokens_of_last(self, tokens: int) -> int:
        """Return the tokens of the last update of a budget."""
        return self.sequence_length * len(self.batch_of(max(0, self.steps(tokens) - 1)))

    def rate_at(self, step: int, horizon_tokens: float) -> float:
        """Return the learning rate of the update that follows `step` updates; no update is spent at a rate of 0.

        Raises ValueError where a plugin's schedule gives no finite number from 0.
        """
        seen = self.tokens_after(step + 1)
        share = self.schedule.multiplier(seen, horizon_tokens + self.tokens_per_step)
        if not (isinstance(share, Real) and 0 <= share < inf):
            needed = "a finite number from 0 is needed"
            raise ValueError(
                f"recipe.schedule {self.schedule.kind} gives {share!r:.80} after {seen:,} tokens; {needed}"
            )
        return self.peak_learning_rate * share

    def long_sequence_updates(self, updates: int) -> int:
        """Return the further updates that follow `updates` at the usual length."""
        return max(1, round(self.long_sequence_share * updates)) if self.long_sequence_share else 0

    @property
    def main_phase(self) -> "Recipe":
        """The recipe before the long sequences and before pruning; equal with and without them."""
        update = {"long_sequence_share": 0.0, "long_sequence_length": LENGTHENED, "pruning": None}
        return self.model_copy(update=update)

    @property
    def of_long_sequences(self) -> "Recipe":
        """The recipe of the updates at `long_sequence_length`."""
        update = {"sequence_length": self.long_sequence_length, "batch_warm_up": None}
        return self.main_phase.model_copy(update=update)

    def root_seed(self, seed: int) -> int:
        """Return the root seed of training: the trial's seed, or one derived from it and `noise_seed`."""
        return stream_seed(seed, "noise_seed", self.noise_seed) if self.noise_seed else seed

    @property
    def with_more_micro_batches(self) -> "Recipe | None":
        """The recipe with twice the micro-batches, of equal losses; None where they would be more than sequences."""
        more = self.model_copy(update={"micro_batches": 2 * self.micro_batches})
        return None if self.pruning is not None or [*more.violations()] else more

    def violations(self) -> Iterator[Violation]:
        """Yield every rule that the values break together."""
        if self.sequence_length < SHORTEST_SEQUENCE:
            message = f"{self.sequence_length} is too short; allowed: {SHORTEST_SEQUENCE} and longer"
            yield Violation(("sequence_length",), message)
        yield from self._batch_violations()
        for name in ADAPTIVE_ONLY:
            value, default = getattr(self, name), type(self).model_fields[name].default
            if not self.optimiser.adaptive and value != default:
                message = f"{value:g} has no effect, {self.optimiser.kind} has no moments; leave it at {default:g}"
                yield Violation((name,), message)
        if self.precision == "tensorfloat32" and self.device != "cuda":
            message = f"tensorfloat32 is of GPUs alone, and the device is {self.device}; allowed: float32, bfloat16"
            yield Violation(("precision",), message)
        if self.pruning is not None and self.long_sequence_share:
            yield Violation(
                ("pruning",), "a pruned encoder has no phase of long sequences; set long_sequence_share 0"
            )
        for violation in self.schedule.violations():
            yield violation.under("schedule")

    def _batch_violations(self) -> Iterator[Violation]:
        """Yield sizes that batches cannot have, and batches that are divided into more parts than sequences."""
        if self.batch_warm_up is not None:
            for mistake in self.batch_warm_up.mistakes(self.batch_sequences):
                yield Violation(("batch_warm_up", "initial_sequences"), mistake)
        fewest = self.phases[0].batch_sequences
        if self.micro_batches > fewest:
            message = f"{self.micro_batches} micro-batches of {fewest} sequences would leave some empty"
            yield Violation(("micro_batches",), message)
        elif self.processes * self.micro_batches > fewest:
            parts = f"{self.processes} processes of {self.micro_batches} micro-batches"
            message = f"{parts} would leave some of {fewest} sequences empty"
            yield Violation(("processes",), message)
        if self.pruning is not None and self.batch_warm_up is not None:
            yield Violation(("pruning",), "a pruned encoder reads batches of one size; leave batch_warm_up out")
