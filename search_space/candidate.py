"""A candidate: an architecture, a pretraining objective and a training recipe; with its training FLOPs."""

from collections.abc import Iterator
from itertools import pairwise

from pydantic import Field

from search_space.architecture import Architecture
from search_space.cost import MATMUL, Convention
from search_space.encoder_decoder_architecture import EncoderDecoderArchitecture
from search_space.fine_tuning import FineTuningChanges
from search_space.module_architecture import ModuleArchitecture
from search_space.objective import Objective, PretrainingObjective
from search_space.objective.replaced_tokens import ReplacedTokenDetection
from search_space.packing import packings
from search_space.recipe import Recipe
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import Name, Schema, options_of

BACKWARD_AND_FORWARD = MATMUL.training_passes


class Candidate(Schema):
    """One candidate; two candidates with equal canonical text are the same candidate."""

    architecture: Architecture = Field(default_factory=Architecture)
    """The encoder: an option for each axis, and its sizes."""
    objective: Objective = Field(default_factory=ReplacedTokenDetection)
    """The pretraining objective. Default: replaced token detection, as in ELECTRA and ConvBERT."""
    recipe: Recipe = Field(default_factory=Recipe)
    """How the candidate is trained: batches, learning rate, regularisation."""
    init_checkpoint: str | None = Field(default=None, examples=["results/imported/bert"])
    """Its initial encoder in place of `pretraining.init_checkpoint`: a folder of `steeplechase import`, or a Hugging
    Face folder, which is imported first."""
    data: Name | None = Field(default=None, examples=["news"])
    """What it is pretrained on in place of the experiment's corpus and vocabulary: one of the experiment's `data`."""
    fine_tuning: FineTuningChanges = Field(default_factory=FineTuningChanges, examples=[{"epochs": 10}])
    """What it is fine-tuned with in place of the experiment's `fine_tuning`, on every task."""

    def violations(self) -> Iterator[Violation]:
        """Yield every rule that the values break together."""
        of_architecture = [violation.under("architecture") for violation in self.architecture.violations()]
        yield from of_architecture
        for name in ("objective", "recipe"):
            part: Objective | Recipe = getattr(self, name)
            for violation in part.violations():
                yield violation.under(name)
        if self.recipe.pruning is not None and not of_architecture:
            for violation in self.recipe.pruning.violations(self.architecture, self.objective):
                yield violation.under("recipe", "pruning")
        if self.recipe.compile and self.objective.writes_target:
            message = f"true with {self.objective.name}, whose texts differ in length from batch to batch"
            yield Violation(("recipe", "compile"), f"{message}; allowed: false")
        yield from self._objective_violations()
        yield from self._length_violations()
        if self.architecture.memory:
            yield from self._memory_violations()
        if self.recipe.batch_warm_up is not None and self.objective.packing.consecutive:
            kind = self.objective.packing.kind
            message = f"rows of packing {kind} are lanes of the text, as many in every batch; leave batch_warm_up out"
            yield Violation(("recipe", "batch_warm_up"), message)
        for violation in self.objective.mistakes_at(self.recipe.sequence_length, self.recipe.batch_sequences):
            yield violation.under("recipe")
        yield from self._module_violations()

    def _length_violations(self) -> Iterator[Violation]:
        """Yield what is longer than the positions, or than a sequence."""
        length, longer = self.recipe.sequence_length, self.recipe.long_sequence_length
        if too_long := self.architecture.too_long(length):
            yield Violation(("recipe", "sequence_length"), too_long)
        if self.recipe.long_sequence_share and (too_long := self.architecture.too_long(longer)):
            yield Violation(("recipe", "long_sequence_length"), too_long)
        for number, convolution in enumerate(self.architecture.convolutions):
            if convolution.reach is not None and convolution.reach.tokens > 2 * length - 1:
                field = () if convolution.sized_by is None else (convolution.sized_by,)
                message = f"{convolution.reach.tokens} reaches past a whole sequence of {length} tokens"
                yield Violation(("architecture", *(("layers",) if number else ("convolution", *field))), message)

    def _objective_violations(self) -> Iterator[Violation]:
        """Yield what the objective cannot be trained on."""
        decodes = isinstance(self.architecture, EncoderDecoderArchitecture)
        if self.objective.writes_target != decodes:
            fitting = ", ".join(_kinds_that_fit(decodes))
            kind = "of kind encoder_decoder" if decodes else "without a decoder"
            message = f"{self.objective.name} with an architecture {kind}; allowed: {fitting}"
            yield Violation(("objective",), message)
        if self.recipe.label_smoothing and not decodes:
            message = f"{self.recipe.label_smoothing} with an architecture without a decoder; allowed: 0"
            yield Violation(("recipe", "label_smoothing"), message)
        if self.architecture.visibility not in self.objective.visibilities:
            allowed = ", ".join(self.objective.visibilities)
            message = f"{self.architecture.visibility} with {self.objective.name}; allowed: {allowed}"
            yield Violation(("architecture", "visibility"), message)
        if not self.objective.reads(self.objective.packing):
            allowed = ", ".join(each.kind for each in packings() if self.objective.reads(each))
            message = f"{self.objective.packing.kind} with {self.objective.name}; allowed: {allowed}"
            yield Violation(("objective", "packing"), message)
        if self.objective.packing.pairs and self.architecture.segments == 1:
            message = (
                f"1 segment embedding with {self.objective.name}, which reads 2 segments. Write 2, or 0 for none"
            )
            yield Violation(("architecture", "segments"), message)
        yield from self.objective.needs(self.architecture)

    def _memory_violations(self) -> Iterator[Violation]:
        for name in ("micro_batches", "processes"):
            if getattr(self.recipe, name) > 1:
                yield Violation(("recipe", name), "a memory is of whole batches; write 1, or memory 0")
        if not self.objective.reads_memory:
            allowed = "allowed: language_model, masked_language_model, permutation_language_model"
            message = f"{self.architecture.memory} tokens of memory with {self.objective.name}; {allowed}"
            yield Violation(("architecture", "memory"), message)

    def _module_violations(self) -> Iterator[Violation]:
        """Yield what an architecture that is any module cannot do."""
        if not isinstance(self.architecture, ModuleArchitecture):
            return
        yield from (each.under("architecture") for each in self.architecture.faults_at(self.recipe.sequence_length))
        if self.objective.reference_generator(self.architecture) is not None:
            message = (
                f"{self.objective.name} shares the encoder's embeddings with its generator; kind module has none"
            )
            yield Violation(("objective",), f"{message}. Did you mean masked_language_model?")
        if self.recipe.activation_checkpointing != "none":
            message = f"{self.recipe.activation_checkpointing} needs blocks; kind module has none"
            yield Violation(("recipe", "activation_checkpointing"), message)

    @property
    def compiles(self) -> bool:
        """Whether the loss of pretraining is compiled."""
        if self.recipe.compile is not None:
            return self.recipe.compile
        on_gpu, any_module = self.recipe.device == "cuda", isinstance(self.architecture, ModuleArchitecture)
        changes = self.recipe.batch_warm_up is not None or self.objective != self.objective.settled
        return on_gpu and not any_module and not changes and not self.objective.writes_target

    @property
    def pretrained(self) -> "Candidate":
        """What pretraining depends on: without fine-tuning, and names of what is an input itself."""
        update = {"init_checkpoint": None, "data": None, "fine_tuning": FineTuningChanges()}
        return self.model_copy(update=update)

    @property
    def in_main_phase(self) -> "Candidate":
        """What pretraining depends on before the long sequences and before pruning."""
        return self.pretrained.model_copy(update={"recipe": self.recipe.main_phase})

    @property
    def parameters(self) -> int:
        """Parameters of the encoder with its embeddings, without heads; of a pruned one, the most that may remain."""
        pruning = self.recipe.pruning
        return self.architecture.parameters if pruning is None else pruning.target(self.architecture)

    def train_flops(self, tokens: int, baseline: Architecture, convention: Convention = MATMUL) -> int:
        """Return the FLOPs of pretraining on the candidate's share of `tokens`, generator and heads included."""
        generator = self.objective.generator_of(self.architecture, baseline)
        sequences = range(-(-self.recipe.own_tokens(tokens) // self.recipe.sequence_length))
        return convention.training_passes * self._forward_flops(sequences, generator, convention)

    def flops_of_updates(self, updates: range, generator: Architecture | None) -> int:
        """Return the FLOPs of consecutive updates of pretraining with such a generator, heads included."""
        first, last = (self.recipe.batch_of(update).start for update in (updates.start, updates.stop))
        return BACKWARD_AND_FORWARD * self._forward_flops(range(first, last), generator, MATMUL)

    def _forward_flops(self, sequences: range, generator: Architecture | None, convention: Convention) -> int:
        """Return the FLOPs of one pass over these sequences of training, by how many tokens they predict."""
        objective, recipe, length = self.objective, self.recipe, self.recipe.sequence_length
        changes = (recipe.first_update_after(tokens) for tokens in objective.changes(length))
        starts = {recipe.batch_of(update).start for update in changes}
        bounds = sorted({sequences.start, sequences.stop, *(each for each in starts if each in sequences)})
        return sum(
            (stop - start)
            * objective.at(start * length).forward_flops(self.architecture, generator, length, convention)
            for start, stop in pairwise(bounds)
        )

    def pruning_flops(self, tokens: int, remaining: Architecture, convention: Convention = MATMUL) -> int:
        """Return the FLOPs after pretraining on `tokens`: of the updates of the scales, and of the recovery.

        The scales are on the whole model; `remaining` is what is trained further. Both count as training updates.
        """
        pruning, recipe = self.recipe.pruning, self.recipe
        if pruning is None:
            return 0
        steps, length = recipe.steps(tokens), recipe.sequence_length
        scales, recovery = (
            self.objective.forward_flops(architecture, None, length, convention)
            for architecture in (self.architecture, remaining)
        )
        updates = pruning.scale_updates(steps) * scales + pruning.recovery_updates(steps) * recovery
        return convention.training_passes * updates * recipe.batch_sequences


def _kinds_that_fit(decodes: bool) -> list[str]:
    """Return the objectives that an architecture with or without a decoder is trained on."""
    options = (option for option in options_of(PretrainingObjective) if not option.model_fields["kind"].is_required())
    return [str(option.model_fields["kind"].default) for option in options if _writes_target(option) == decodes]


def _writes_target(option: type[PretrainingObjective]) -> bool:
    return option.writes_target is not PretrainingObjective.writes_target
