"""Our encoder against transformers' models with the same weights. Its ConvBERT means the paper's γ at 2 alone."""

import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from models.encoder import Encoder
from search_space.architecture import Architecture
from search_space.convolution import SpanDynamic

transformers = pytest.importorskip("transformers", reason="the reference models are in the development extra")

LARGEST_DIFFERENCE, NUDGE = 1e-5, 1e-3
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

# their name to ours; numbers of layers pass through
NAMES = (
    (r"^embeddings\.word_embeddings", "embeddings.tokens"),
    (r"^embeddings\.position_embeddings", "embeddings.positions"),
    (r"^embeddings\.token_type_embeddings", "embeddings.segments"),
    (r"^embeddings\.LayerNorm", "embeddings.norm"),
    (r"^embeddings_project", "projection"),
    (r"^encoder\.layer\.(\d+)\.", r"blocks.\1."),
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


def our_name(theirs: str) -> str:
    for pattern, ours in NAMES:
        theirs = re.sub(pattern, ours, theirs)
    return theirs


def our_layout(name: str, value: Tensor) -> Tensor:
    """Return a weight as ours is laid out: Conv1d keeps [outputs inputs kernel]."""
    if name.endswith("depthwise.weight"):
        return value[:, 0].T
    if name.endswith("pointwise.weight"):
        return value[:, :, 0]
    return value.flatten() if name.endswith("pointwise.bias") else value


def converted(theirs: nn.Module, architecture: Architecture) -> Encoder:
    """Return our encoder with their weights; every one of both has its twin."""
    named = {our_name(name): value for name, value in theirs.named_parameters() if not name.startswith("pooler")}
    ours = Encoder(architecture, 0.1).eval()
    ours.load_state_dict({name: our_layout(name, value) for name, value in named.items()}, strict=True)
    return ours


def conv_bert(groups: int) -> tuple[nn.Module, Architecture]:
    config = transformers.ConvBertConfig(
        **SIZES, embedding_size=EMBEDDING_WIDTH, head_ratio=2, conv_kernel_size=KERNEL_SIZE, num_groups=groups
    )
    built = architecture().model_copy(
        update={
            "bottleneck_ratio": 2,
            "convolution": SpanDynamic(kernel_size=KERNEL_SIZE),
            "feed_forward_groups": groups,
        }
    )
    return transformers.ConvBertModel(config), built


def bert() -> tuple[nn.Module, Architecture]:
    model = transformers.BertModel(transformers.BertConfig(**SIZES), add_pooling_layer=False)
    return model, architecture().model_copy(update={"embedding_width": WIDTH})


def electra() -> tuple[nn.Module, Architecture]:
    config = transformers.ElectraConfig(**SIZES, embedding_size=EMBEDDING_WIDTH)
    return transformers.ElectraModel(config), architecture()


def architecture() -> Architecture:
    return Architecture(
        depth=2,
        width=WIDTH,
        embedding_width=EMBEDDING_WIDTH,
        heads=HEADS,
        feed_forward_width=64,
        vocabulary_size=50,
        positions=24,
    )


@pytest.fixture(params=["ConvBERT", "ConvBERT with groups", "BERT", "ELECTRA"], scope="module")
def pair(request: pytest.FixtureRequest) -> tuple[nn.Module, Encoder]:
    """A reference with random weights, gains and biases, none of them zero, and our encoder with the same."""
    build = {
        "ConvBERT": lambda: conv_bert(1),
        "ConvBERT with groups": lambda: conv_bert(2),
        "BERT": bert,
        "ELECTRA": electra,
    }
    theirs, built = build[request.param]()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            gain = name.endswith("LayerNorm.weight")
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.15 + float(gain))
    return theirs.eval(), converted(theirs, built)


def inputs() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    return torch.randint(50, (3, 17), generator=generator), torch.randint(2, (3, 17), generator=generator)


def reference(theirs: nn.Module) -> Tensor:
    tokens, segments = inputs()
    hidden: Tensor = theirs(input_ids=tokens, token_type_ids=segments, attention_mask=torch.ones_like(tokens))[0]
    return hidden


@torch.no_grad()
def test_the_encoder_computes_what_the_reference_computes(pair: tuple[nn.Module, Encoder]) -> None:
    theirs, ours = pair
    tokens, segments = inputs()
    assert (ours(tokens, segments) - reference(theirs)).abs().max() <= LARGEST_DIFFERENCE
    every = torch.ones_like(tokens, dtype=torch.bool)
    assert (ours(tokens, segments, every) - reference(theirs)).abs().max() <= LARGEST_DIFFERENCE


@torch.no_grad()
def test_a_nudge_to_any_one_weight_is_noticed(pair: tuple[nn.Module, Encoder]) -> None:
    """The comparison can fail: every tensor is seen in it, except a key's bias, which softmax does not see."""
    theirs, ours = pair
    expected, generator = reference(theirs), torch.Generator().manual_seed(3)
    for name, parameter in ours.named_parameters():
        nudge = NUDGE * torch.randn(parameter.shape, generator=generator).sign()
        parameter.add_(nudge)
        difference = (ours(*inputs()) - expected).abs().max()
        parameter.sub_(nudge)
        if not name.endswith("attention.key.bias"):
            assert difference > LARGEST_DIFFERENCE, name
