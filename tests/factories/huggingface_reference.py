"""Models of transformers with random weights, and ours with the same. Its ConvBERT means the paper's γ at 2 alone."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from search_space.architecture import Architecture
from search_space.candidate import Candidate
from search_space.convolution import NoConvolution, SpanDynamic
from search_space.objective import MaskedLanguageModel, Objective, ReplacedTokenDetection
from steeplechase.models.heads.masked_language_model import MaskedLanguageModelHead
from steeplechase.tasks.objectives import build_model
from steeplechase.tasks.objectives.masked_language_model import Model as MaskedModel
from steeplechase.tasks.objectives.pretraining_model import PretrainingModel
from steeplechase.tasks.objectives.replaced_token_detection import Model as ReplacedModel

transformers = pytest.importorskip("transformers", reason="the reference models are in the development extra")

WIDTH, HEADS, EMBEDDING_WIDTH, KERNEL_SIZE = 32, 4, 16, 5
SIZES: dict[str, Any] = {
    "vocab_size": 50,
    "hidden_size": WIDTH,
    "num_hidden_layers": 2,
    "num_attention_heads": HEADS,
    "intermediate_size": 64,
    "max_position_embeddings": 24,
    "type_vocab_size": 2,
    "attn_implementation": "eager",
}

# their name to ours, inside an encoder; numbers of layers pass through
ENCODER_NAMES = (
    (r"embeddings\.word_embeddings", "embeddings.tokens"),
    (r"embeddings\.position_embeddings", "embeddings.positions"),
    (r"embeddings\.token_type_embeddings", "embeddings.segments"),
    (r"embeddings\.LayerNorm", "embeddings.norm"),
    (r"embeddings_project", "projection"),
    (r"encoder\.layer\.(\d+)\.", r"blocks.\1."),
    (r"attention\.self\.key_conv_attn_layer\.(depthwise|pointwise)", r"attention.branch.span_key.\1"),
    (r"attention\.self\.key_conv_attn_layer\.bias", "attention.branch.span_key.pointwise.bias"),
    (r"attention\.self\.conv_kernel_layer", "attention.branch.generate"),
    (r"attention\.self\.conv_out_layer", "attention.branch.value"),
    (r"attention\.self\.", "attention."),
    (r"attention\.output\.dense", "attention.output"),
    (r"attention\.output\.LayerNorm", "attention_norm"),
    (r"intermediate\.dense", "feed_forward.up"),
    (r"\.output\.dense", ".feed_forward.down"),
    (r"\.output\.LayerNorm", ".feed_forward_norm"),
)
# and of the output layers; the table that they share with the embeddings has one name in both
HEAD_NAMES = (
    (r"^(generator_predictions|cls\.predictions\.transform)\.dense", "{head}.transform"),
    (r"^(generator_predictions|cls\.predictions\.transform)\.LayerNorm", "{head}.norm"),
    (r"^(generator_lm_head|cls\.predictions)\.bias", "{head}.words.bias"),
    (r"^discriminator_predictions\.dense\.", "{head}.transform."),
    (r"^discriminator_predictions\.dense_prediction\.", "{head}.verdict."),
)


@dataclass(frozen=True)
class Pair:
    """A model of theirs, the pretraining model of ours that has its twin, and where the twin is in it."""

    theirs: nn.Module
    ours: PretrainingModel[Any]
    encoder: str
    head: str

    def our_name(self, theirs: str) -> str:
        """Return our name of one of their parameters."""
        within, _, name = theirs.partition(".")
        if within == self.theirs.base_model_prefix:
            for pattern, ours in ENCODER_NAMES:
                name = re.sub(pattern, ours, name)
            # a generator's embeddings are those of the encoder that is kept
            return f"encoder.{name}" if name.startswith("embeddings.") else f"{self.encoder}.{name}"
        for pattern, ours in HEAD_NAMES:
            theirs = re.sub(pattern, ours.format(head=self.head), theirs)
        return theirs

    def as_ours(self, values: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return what belongs to their parameters, weights or gradients, under our names and in our layout."""
        return {self.our_name(name): our_layout(name, value) for name, value in values.items()}

    def twins(self) -> dict[str, nn.Parameter]:
        """Return our parameters that have a twin, by name: the encoder's, its embeddings' and the head's."""
        parts = ("encoder.embeddings.", f"{self.encoder}.", f"{self.head}.")
        return {name: each for name, each in self.ours.named_parameters() if name.startswith(parts)}

    def hidden_and_logits(self, tokens: Tensor, segments: Tensor, padding_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return our last hidden states and logits at the real positions, row by row."""
        hidden = self.ours.get_submodule(self.encoder)(tokens, segments, padding_mask)
        head = self.ours.get_submodule(self.head)
        if isinstance(head, MaskedLanguageModelHead):
            return hidden[padding_mask], head(hidden[padding_mask], self.ours.encoder.embeddings.tokens.weight)
        return hidden[padding_mask], head(hidden)[padding_mask]

    def their_hidden_and_logits(
        self, tokens: Tensor, segments: Tensor, padding_mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return theirs."""
        found = self.theirs(
            input_ids=tokens, token_type_ids=segments, attention_mask=padding_mask.long(), output_hidden_states=True
        )
        return found.hidden_states[-1][padding_mask], found.logits[padding_mask]

    def embeddings(self) -> tuple[nn.Module, nn.Module]:
        """Return the modules of ours and theirs whose output is the input embeddings."""
        return self.ours.encoder.embeddings, self.theirs.get_submodule(f"{self.theirs.base_model_prefix}.embeddings")


def our_layout(name: str, value: Tensor) -> Tensor:
    """Return a weight as ours is laid out: Conv1d keeps [outputs inputs kernel]."""
    if name.endswith("depthwise.weight"):
        return value[:, 0].T
    if name.endswith("pointwise.weight"):
        return value[:, :, 0]
    return value.flatten() if name.endswith("key_conv_attn_layer.bias") else value


def conv_bert(groups: int, **choices: Any) -> Pair:
    config = transformers.ConvBertConfig(
        **SIZES, embedding_size=EMBEDDING_WIDTH, head_ratio=2, conv_kernel_size=KERNEL_SIZE, num_groups=groups
    )
    convolution = SpanDynamic(kernel_size=KERNEL_SIZE, **choices)
    sizes = {"bottleneck_ratio": 2, "convolution": convolution, "feed_forward_groups": groups}
    return Pair(transformers.ConvBertForMaskedLM(config), masked_model(**sizes), "encoder", "head")


def bert() -> Pair:
    theirs = transformers.BertForMaskedLM(transformers.BertConfig(**SIZES))
    return Pair(theirs, masked_model(embedding_width=WIDTH), "encoder", "head")


def electra_discriminator() -> Pair:
    config = transformers.ElectraConfig(**SIZES, embedding_size=EMBEDDING_WIDTH)
    return Pair(transformers.ElectraForPreTraining(config), replaced_model(), "encoder", "judge")


def electra_generator() -> Pair:
    """Half as wide as the discriminator that it shares its embeddings with."""
    sizes = {**SIZES, "hidden_size": WIDTH // 2, "intermediate_size": 32, "num_attention_heads": HEADS // 2}
    config = transformers.ElectraConfig(**sizes, embedding_size=EMBEDDING_WIDTH)
    return Pair(transformers.ElectraForMaskedLM(config), replaced_model(), "generator", "generator_head")


MODELS: dict[str, Callable[[], Pair]] = {
    "ConvBERT": lambda: conv_bert(1, padding="as_released"),
    "ConvBERT with groups": lambda: conv_bert(2, padding="as_released"),
    "BERT": bert,
    "ELECTRA's discriminator": electra_discriminator,
    "ELECTRA's generator": electra_generator,
}


def masked_model(**changes: Any) -> PretrainingModel[Any]:
    model = model_of(MaskedLanguageModel(), changes)
    assert isinstance(model, MaskedModel)
    return model


def replaced_model() -> PretrainingModel[Any]:
    model = model_of(ReplacedTokenDetection(generator_ratio=2), {})
    assert isinstance(model, ReplacedModel)
    return model


def model_of(objective: Objective, changes: dict[str, Any]) -> PretrainingModel[Any]:
    sizes: dict[str, Any] = {
        "depth": 2,
        "width": WIDTH,
        "embedding_width": EMBEDDING_WIDTH,
        "heads": HEADS,
        "convolution": NoConvolution(),
        "feed_forward_width": 64,
        "vocabulary_size": 50,
        "positions": 24,
    }
    candidate = Candidate(architecture=Architecture(**{**sizes, **changes}), objective=objective)
    return build_model(candidate, objective.generator_of(candidate.architecture, candidate.architecture), 1)


def with_same_weights(pair: Pair, dtype: torch.dtype) -> Pair:
    """Give both the same random weights: no bias is zero, no gain is one, and every tensor has its twin."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in pair.theirs.named_parameters():
            if name.endswith("LayerNorm.weight"):
                parameter.uniform_(0.5, 1.5, generator=generator)
            else:
                parameter.normal_(0.0, 0.15, generator=generator)
        twins = pair.twins()
        weights = pair.as_ours(dict(pair.theirs.named_parameters()))
        assert weights.keys() == twins.keys()
        for name, weight in weights.items():
            assert weight.shape == twins[name].shape, name
            twins[name].copy_(weight)
    pair.theirs.to(dtype).eval()
    pair.ours.to(dtype).eval()
    return pair
