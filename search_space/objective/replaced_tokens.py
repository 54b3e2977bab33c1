"""Shared by the objectives whose inputs a generator corrupts. Clark et al. 2020 (ELECTRA), arXiv 2003.10555."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from pydantic import Field

from search_space.architecture import Architecture
from search_space.cost import Component, Operations, Role, linear
from search_space.objective.generator_training import GeneratorTraining, Joint
from search_space.objective.masked_language_model import WithMaskedReference
from search_space.output_layer import vocabulary_head
from search_space.shape import linear_parameters
from steeplechase.foundation.errors import Violation
from steeplechase.foundation.schema import Count, PositiveNumber

GENERATOR = "generator"
SHARED = {"none": "no weights", "token_embeddings": "token embeddings", "all": "all weights"}


class ReplacedTokens(WithMaskedReference):
    """A generator samples tokens at the masked positions; a discriminator says which tokens it replaced."""

    generator: Literal["baseline", "own", "unigram"] = "baseline"
    """`baseline`: every arm trains with the baseline's generator, so that only the encoder differs.
    `own`: the generator is built like the arm, as the paper does (ConvBERT's release).
    `unigram`: no network; tokens are drawn by their frequency in the training text."""
    generator_ratio: Count = 4
    """By how much the generator is narrower than its model. Default: ELECTRA-Small; base models use 3."""
    generator_sharing: Literal["none", "token_embeddings", "embeddings", "all"] = "embeddings"
    """Weights that the generator shares with the encoder: none, the token table, all embeddings with their norm
    (default: ELECTRA's release), or the whole encoder, which needs a generator of the same sizes."""
    generator_training: GeneratorTraining = Field(default_factory=Joint)
    """How the generator is trained: jointly with the encoder, before it (`two_stage`), or against it
    (`adversarial`)."""
    generator_weight: PositiveNumber = 1.0
    """Weight of the generator's loss in the sum of both losses."""
    discriminator_weight: PositiveNumber = 50.0
    """Weight of the discriminator's loss in the sum: λ of ELECTRA, arXiv 2003.10555, section 3.1."""

    @property
    def description(self) -> str:
        """The share of predicted tokens, the generator and the weights of both losses."""
        weights = f"{self.generator_weight:g} and {self.discriminator_weight:g}"
        return f"{super().description}, {self._generator_description}, losses weighed {weights}"

    @property
    def _generator_description(self) -> str:
        if self.generator == "unigram":
            return "unigram generator"
        owner = "the baseline's" if self.generator == "baseline" else "the arm's own"
        described = f"generator 1/{self.generator_ratio} of {owner} size"
        if self.generator_sharing != "embeddings":
            described += f", {SHARED[self.generator_sharing]} shared"
        if self.generator_training != Joint():
            described += f", {self.generator_training.kind.replace('_', ' ')} training"
        return described

    @property
    def has_discriminator(self) -> bool:
        """Whether the encoder says which tokens were replaced."""
        return True

    @property
    def tokens_before_encoder(self) -> int:
        """Those that train the generator alone."""
        return self.generator_training.tokens_before_encoder

    def generator_of(self, architecture: Architecture, baseline: Architecture) -> Architecture | None:
        """Return the network that corrupts the input, with the encoder's embedding sizes; None if there is none."""
        if self.generator == "unigram":
            return None
        model = baseline if self.generator == "baseline" else architecture
        return model.shrunk(self.generator_ratio).with_embeddings_of(architecture)

    def reference_generator(self, baseline: Architecture) -> Architecture:
        """Return the baseline's generator; a network for every objective, so that arms have one evaluation set."""
        return baseline.shrunk(self.generator_ratio)

    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return what pretraining adds and fine-tuning drops: the discriminator head, the generator and its head."""
        return discriminator_head(architecture), *self.generator_parts(generator, length)

    def generator_parts(self, generator: Architecture | None, length: int) -> tuple[Component, ...]:
        """Return the generator and its heads; what it shares with the encoder has no parameters here."""
        if generator is None:
            return ()
        parts = [self._generator_part(part, generator) for part in generator.parts(length)]
        heads = (vocabulary_head(generator), *self.generator_training.added_parts(generator))
        return (*parts, *(head.of(GENERATOR, shared=False) for head in heads))

    def _generator_part(self, part: Component, generator: Architecture) -> Component:
        own, sharing = part.of(GENERATOR, shared=False), self.generator_sharing
        if sharing == "none" or (sharing != "all" and part.role is not Role.EMBEDDINGS):
            return own
        if sharing == "token_embeddings":
            return replace(own, parameters=part.parameters - generator.vocabulary_size * generator.embedding_width)
        return part.of(GENERATOR, shared=True)

    def violations(self) -> Iterator[Violation]:
        """Yield every rule that the values break together."""
        yield from super().violations()
        yield from self._without_network() if self.generator == "unigram" else self._with_network()

    def _without_network(self) -> Iterator[Violation]:
        """Yield the settings of a network that a unigram generator cannot have."""
        settings = {
            "generator_sharing": (self.generator_sharing, "embeddings"),
            "generator_training": (self.generator_training.kind, "joint"),
            "generator_weight": (self.generator_weight, 1.0),
        }
        for name, (value, default) in settings.items():
            if value != default:
                message = f"{name} {value} with generator unigram, which has no weights; leave it at {default}"
                yield Violation((name,), message)

    def _with_network(self) -> Iterator[Violation]:
        training = self.generator_training
        if training.needs_discriminator and not self.has_discriminator:
            message = f"{training.kind} needs a discriminator, {self.name} has none. Did you mean joint?"
            yield Violation(("generator_training",), message)
        if training.needs_equal_sizes and self.generator_sharing != "none":
            message = (
                f"{self.generator_sharing} with {training.kind}: a frozen generator shares no weights. Write none"
            )
            yield Violation(("generator_sharing",), message)
        if self.generator_sharing == "all" or training.needs_equal_sizes:
            needing = f"generator_training {training.kind}" if training.needs_equal_sizes else "generator_sharing all"
            if self.generator_ratio != 1:
                message = f"{self.generator_ratio} with {needing}: generator and encoder need the same sizes. Write 1"
                yield Violation(("generator_ratio",), message)
            if self.generator != "own":
                message = f"{self.generator} with {needing}: the generator needs each arm's own sizes. Write own"
                yield Violation(("generator",), message)


def discriminator_head(architecture: Architecture) -> Component:
    """Return a linear map, GELU, and a map to one logit, for whose bias ELECTRA's script counts no operation."""
    width = architecture.width
    parameters = linear_parameters(width, width) + linear_parameters(width, 1)
    operations = linear(width, width) + Operations(gelus=width, multiply_adds=width)
    return Component(Role.DISCRIMINATOR, architecture.attention_shape, parameters, operations)


class ReplacedTokenDetection(ReplacedTokens):
    """A generator samples tokens at the masked positions; the discriminator classifies every token.

    Clark et al. 2020, arXiv 2003.10555.
    """

    kind: Literal["replaced_token_detection"] = "replaced_token_detection"
    """Chooses replaced token detection, with a generator beside the encoder."""


class Electra15Percent(ReplacedTokens):
    """A generator samples tokens at the masked positions; the discriminator classifies these tokens and no others.

    Its held-out loss is of the masked tokens too, so it is not comparable with that of replaced token detection.

    ELECTRA 15%: Clark et al. 2020, arXiv 2003.10555, section 3.4.
    """

    kind: Literal["electra_15_percent"] = "electra_15_percent"
    """Chooses replaced token detection at the masked tokens alone."""


class ReplaceMaskedLanguageModel(ReplacedTokens):
    """Masked language modelling with a generator's samples in place of [MASK]; original tokens are predicted there.

    The weight of the discriminator is that of the encoder's own loss. The held-out loss is measured on inputs that
    the reference generator corrupted, so it is not comparable with that of masked language modelling.

    Replace MLM: Clark et al. 2020, arXiv 2003.10555, section 3.4.
    """

    kind: Literal["replace_masked_language_model"] = "replace_masked_language_model"
    """Chooses masked language modelling on the samples of a generator."""
    discriminator_weight: PositiveNumber = 1.0
    """Weight of the encoder's own loss in the sum of both losses."""

    @property
    def has_discriminator(self) -> bool:
        """No: the encoder predicts tokens."""
        return False

    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return the vocabulary head, the generator and its head."""
        return vocabulary_head(architecture), *self.generator_parts(generator, length)


class AllTokensMaskedLanguageModel(ReplacedTokens):
    """Cross-entropy of the original token at every position, as a mixture of the input token and a softmax.

    A sigmoid gives the probability of the input token (copy mechanism). The weight of the discriminator is that of
    the encoder's own loss. The held-out loss is that of `replace_masked_language_model`: the mixture's loss at the
    tokens that the reference generator sampled.

    All-Tokens MLM: Clark et al. 2020, arXiv 2003.10555, section 3.4.
    """

    kind: Literal["all_tokens_masked_language_model"] = "all_tokens_masked_language_model"
    """Chooses masked language modelling over all tokens, on the samples of a generator."""
    discriminator_weight: PositiveNumber = 1.0
    """Weight of the encoder's own loss in the sum of both losses."""

    @property
    def has_discriminator(self) -> bool:
        """No: the encoder predicts tokens."""
        return False

    @property
    def evaluation(self) -> str:
        """That of Replace MLM, whose predictions are part of these."""
        return "replace_masked_language_model"

    def added_parts(
        self, architecture: Architecture, generator: Architecture | None, length: int
    ) -> tuple[Component, ...]:
        """Return the vocabulary head and the copy head, both at every token, the generator and its head."""
        words = vocabulary_head(architecture, applied_to="token")
        return words, copy_head(architecture), *self.generator_parts(generator, length)


def copy_head(architecture: Architecture) -> Component:
    """Return a map to one logit with its sigmoid; as for the discriminator's, no operation counts for its bias."""
    operations = Operations(multiply_adds=architecture.width, sigmoids=1)
    return Component(Role.COPY, architecture.attention_shape, linear_parameters(architecture.width, 1), operations)
