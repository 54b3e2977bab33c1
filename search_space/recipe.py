"""Training recipe: batch, optimiser, learning rate, regularisation. Defaults: ELECTRA-Small, arXiv 2003.10555.

Batches that grow at the beginning of pretraining. Brown et al. 2020, arXiv 2005.14165, appendix B.

The sizes are the multiples of the first one. Data are those of a constant batch in the same order, cut differently: a
larger batch is several of the smallest ones, one behind another.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pydantic import Field

from search_space.optimiser import AdamW, Optimiser
from search_space.pruning import Pruning
from search_space.schedule import LinearSchedule, Schedule
from search_space.shape import near
from steeplechase.foundation.devices import Device, Precision
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.randomness import stream_seed
from steeplechase.foundation.schema import Count, PositiveNumber, Schema, Share

SIZES_AT_MOST = 4096


class BatchWarmUp(Schema):
    """Batches of 1, 2, 3 … times `initial_sequences`, up to `batch_sequences`."""

    initial_sequences: Count = Field(examples=[768])
    """Sequences of the first batches, and by how many batches grow. ModernBERT-base: 768 of 4,608."""
    tokens: Count = Field(examples=[50_000_000_000])
    """Training tokens before batches have their whole size. ModernBERT-base: 50 billion."""
    equal: Literal["updates", "tokens"] = "updates"
    """What every size has the same number of: `updates`, rounded up to whole ones (ModernBERT, arXiv 2412.13663,
    section 2.2), or `tokens`, so that the size grows in proportion to them (GPT-3)."""

    def mistakes(self, batch_sequences: int) -> Iterator[str]:
        """Yield what the sizes cannot be."""
        first = self.initial_sequences
        if first >= batch_sequences:
            yield f"{first} is not below batch_sequences, {batch_sequences}; leave batch_warm_up out, or write fewer"
        elif batch_sequences % first:
            allowed = near(batch_sequences, first)
            yield f"{first} does not divide batch_sequences {batch_sequences}. Allowed near it: {allowed}"
        elif batch_sequences // first > SIZES_AT_MOST:
            least = -(-batch_sequences // SIZES_AT_MOST)
            yield f"{batch_sequences // first} sizes of a batch are too many; write {least} or more"


@dataclass(frozen=True)
class Phase:
    """Updates with batches of one size."""

    first_update: int
    first_sequence: int
    """Sequences of all updates before."""
    batch_sequences: int


@lru_cache(maxsize=4096)
def phases(warm_up: BatchWarmUp | None, batch_sequences: int, sequence_length: int) -> tuple[Phase, ...]:
    """Return the phases in order, each of at least one update; the last one has no end."""
    if warm_up is None or [*warm_up.mistakes(batch_sequences)]:
        return (Phase(0, 0, batch_sequences),)
    return (*_growing(warm_up, batch_sequences // warm_up.initial_sequences, sequence_length),)


def _growing(warm_up: BatchWarmUp, sizes: int, sequence_length: int) -> Iterator[Phase]:
    first, update, sequence = warm_up.initial_sequences, 0, 0
    sequences = -(-warm_up.tokens // sequence_length)  # of the whole warm-up
    each = -(-sequences // (first * sizes * (sizes - 1) // 2))  # updates of every size, where those are equal
    for size in range(1, sizes):
        batch = size * first
        until = -(-size * sequences // (sizes - 1))
        updates = each if warm_up.equal == "updates" else max(0, -(-(until - sequence) // batch))
        if updates:
            yield Phase(update, sequence, batch)
        update, sequence = update + updates, sequence + updates * batch
    yield Phase(update, sequence, sizes * first)


def phase_of(update: int, among: tuple[Phase, ...]) -> Phase:
    """Return the phase of the update that follows `update` updates."""
    return among[bisect_right(among, update, key=lambda phase: phase.first_update) - 1]


def sequences_before(update: int, among: tuple[Phase, ...]) -> int:
    """Return the sequences of the first `update` updates."""
    phase = phase_of(update, among)
    return phase.first_sequence + (update - phase.first_update) * phase.batch_sequences


def updates_with(sequences: int, among: tuple[Phase, ...]) -> int:
    """Return the fewest updates that have at least so many sequences."""
    place = bisect_left(among, sequences, key=lambda phase: phase.first_sequence)
    phase = among[max(0, place - 1)]
    return phase.first_update + -(-(sequences - phase.first_sequence) // phase.batch_sequences)


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
    """The rule of an update: `adamw`, `adam`, `sgd` or `lamb`."""
    peak_learning_rate: PositiveNumber = 5e-4
    """Learning rate at the end of the warm-up, before the schedule's decay."""
    schedule: Schedule = Field(default_factory=LinearSchedule)
    """The learning rate over the tokens.

    `linear` and `cosine` decay to zero, `warmup_stable_decay` does over the last part, `inverse_square_root` decays
    without an end, and `constant` stays at its peak.
    """
    weight_decay: float = Field(default=0.01, ge=0)
    """Weight decay of matrices; normalisations and biases have none.

    It is decoupled in `adamw` and `lamb`, and part of the gradient (L2 regularisation) in `adam` and `sgd`.
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
    """Activations saved for the backward pass; the rest is recomputed, which saves memory and costs time."""
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
        """Return the learning rate of the update that follows `step` updates; no update is spent at a rate of 0."""
        seen = self.tokens_after(step + 1)
        return self.peak_learning_rate * self.schedule.multiplier(seen, horizon_tokens + self.tokens_per_step)

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
