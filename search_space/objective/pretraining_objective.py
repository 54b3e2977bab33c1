"""The interface of a pretraining objective's declaration: costs in closed form, and its evaluation set.

An objective is two files: this declaration in `search_space/objective/NAME.py`, and its module in
`tasks/objectives/NAME.py`, which prepares batches, computes the loss and makes the evaluation set.
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar, Self, get_args

from pydantic import Field

from search_space.architecture import Architecture
from search_space.cost import MATMUL, Component, Convention
from search_space.packing import Packing, PackingOption, Stream, packings
from search_space.visibility import Visibility
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import VARIANT_KEY, OpenOption


class PretrainingObjective(OpenOption):
    """What pretraining adds to an encoder and what it predicts; every objective has a `kind`, its file's name."""

    package: ClassVar[str] = "search_space.objective"
    modules: ClassVar[str] = "steeplechase.tasks.objectives"
    entry: ClassVar[str] = "Model"

    packing: Packing = Field(default_factory=Stream)
    """How training sequences are made of the text; the held-out loss is of pieces of the stream, whatever it is."""

    @property
    def name(self) -> str:
        """The kind, with spaces for underscores."""
        return str(getattr(self, VARIANT_KEY)).replace("_", " ")

    @property
    def description(self) -> str:
        """The name and the settings that a paper states about its objective, for the sentence on the recipe."""
        return f"{self.name}{self.packing_text}"

    @property
    def packing_text(self) -> str:
        """How training sequences are made of the text, for the end of a sentence; empty for the usual packing."""
        usual = type(self).model_fields["packing"].get_default(call_default_factory=True)
        return "" if self.packing == usual else f", packed as {self.packing.kind.replace('_', ' ')}"

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the terms of the loss whose curves are kept beside that of their sum; empty: the sum alone."""
        return ()

    @property
    def evaluation(self) -> str:
        """The kind of objective whose evaluation set and loss give the held-out loss; by default its own.

        Behind a dot may stand which of the kind's losses: `denoising.rotation`.

        Held-out losses are comparable if and only if this is equal: an objective that adds a second loss to masked
        language modelling is evaluated on masked tokens, beside plain masked language modelling.
        """
        return str(getattr(self, VARIANT_KEY))

    @property
    def corrupts_at_random(self) -> bool:
        """Whether a batch depends on the random stream, and not on its sequences alone."""
        return True

    @property
    def writes_target(self) -> bool:
        """Whether a decoder predicts a target, so that the architecture is an encoder with a decoder."""
        return False

    @property
    def continues_by_mask(self) -> bool:
        """Whether one stack can write a target behind a source, each token by a [MASK] in its place."""
        return False

    @property
    def reads_memory(self) -> bool:
        """Whether it can keep a memory of earlier segments between its batches."""
        return False

    @property
    def visibilities(self) -> tuple[Visibility, ...]:
        """The visibilities that the objective can train; by default all but `permutation`.

        `prefix` only where sequences are pairs.
        """
        every: tuple[Visibility, ...] = tuple(each for each in get_args(Visibility) if each != "permutation")
        return every if self.packing.pairs else tuple(each for each in every if each != "prefix")

    def reads(self, packing: PackingOption) -> bool:
        """Return whether the objective can be trained on sequences of a packing; by default on full ones alone."""
        return not (packing.padded or packing.pairs or packing.reads_mentions or packing.consecutive)

    def measured_on(self, evaluation: str) -> bool:
        """Return whether its held-out loss can be measured on the evaluation set of a kind of objective."""
        return evaluation == self.evaluation

    @property
    def reference(self) -> "PretrainingObjective":
        """The objective of the reference candidate of the evaluation set: how its inputs are corrupted."""
        return self

    @property
    def tokens_before_encoder(self) -> int:
        """Training tokens before the first update of the encoder, multiplied by the arm's `token_share`."""
        return 0

    def generator_of(self, architecture: Architecture, baseline: Architecture) -> Architecture | None:
        """Return the auxiliary model that corrupts the input in training; None if there is none."""
        return None

    def reference_generator(self, baseline: Architecture) -> Architecture | None:
        """Return the model that is trained first, by the objective `reference`, to corrupt the evaluation set.

        None if the evaluation set needs no model.
        """
        return None

    def at(self, tokens: int) -> Self:
        """Return the objective after `tokens` of training, where a part of it changes with them: the same."""
        return self

    @property
    def settled(self) -> Self:
        """The objective after its last change."""
        return self

    def changes(self, length: int) -> tuple[int, ...]:
        """Return the training tokens from which a sequence of `length` tokens costs something else than before."""
        return ()

    def mistakes_at(self, length: int, rows: int) -> Iterator[Violation]:
        """Yield what batches of `rows` sequences of `length` tokens cannot be used for; paths are a recipe's."""
        yield from ()

    @abstractmethod
    def predictions(self, length: int) -> int:
        """Return the number of tokens of a sequence that enter the output softmax."""

    @abstractmethod
    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return the components that pretraining adds to the encoder and fine-tuning drops."""

    def head_parameters(self, architecture: Architecture, generator: Architecture | None) -> int:
        """Return the number of parameters that pretraining adds to the encoder and fine-tuning drops."""
        return sum(part.all_parameters for part in self.added_parts(architecture, generator, 1))

    def forward_flops(
        self,
        architecture: Architecture,
        generator: Architecture | None,
        length: int,
        convention: Convention = MATMUL,
    ) -> int:
        """Return the FLOPs of one pretraining forward pass over a sequence of `length` tokens."""
        added = self.added_parts(architecture, generator, length)
        return convention.flops((*architecture.parts(length), *added), length, self.predictions(length))

    def needs(self, architecture: Architecture) -> Iterator[Violation]:
        """Yield what the objective needs of the architecture that it does not have: a memory, of its packing."""
        if architecture.memory and self.reads_memory and not self.packing.consecutive:
            message = f"{architecture.memory} tokens of memory need consecutive segments, not {self.packing.kind}"
            allowed = [each.kind for each in packings() if each.consecutive and self.reads(each)]
            yield Violation(("objective", "packing"), f"{message}. Write packing: {' or '.join(allowed)}")

    def violations(self) -> Iterator[Violation]:
        """Yield every rule that the values break together."""
        yield from ()
