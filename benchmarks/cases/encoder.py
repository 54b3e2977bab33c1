"""A training step of the encoder, forward and backward, against transformers' ConvBERT with the same weights."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from benchmarks.measuring import (
    FORWARD_AND_BACKWARD,
    FULL_SIZE,
    TOLERANCES,
    Figure,
    Pace,
    Row,
    Size,
    check,
    compare,
    named,
    need,
    ours_in,
    speed_figure,
    theirs_in,
)
from benchmarks.references import conv_bert
from search_space.architecture import Architecture
from search_space.convolution import SpanDynamic
from steeplechase.models.activation_checkpointing import ActivationCheckpointing
from steeplechase.models.encoder import Encoder

PEER = "transformers' ConvBertModel"
REACH = {torch.float32: (1.35, 1.6), torch.bfloat16: (1.5, 1.5)}  # per width
EMBEDDING_WIDTH, HEADS, KERNEL_SIZE, FEED_FORWARD_RATIO = 128, 4, 9, 4
WEIGHT_SPREAD = 0.05  # larger than the initialisation's 0.02


def rows(size: Size = FULL_SIZE) -> Iterator[Row]:
    """Yield one row per precision and width."""
    for precision, reaches in REACH.items():
        for width, reach in zip(size.widths, reaches, strict=True):
            name = f"encoder step, h={width}, {named(precision)}, {size.depth} layers, B{size.batch} T{size.length}"
            peer = f"{PEER}, {named(precision)}"
            yield Row(name, peer, reach, lambda pace, w=width, p=precision: measure(size, w, p, pace))  # type: ignore[misc]


def architecture(size: Size, width: int, depth: int | None = None) -> Architecture:
    """Return a ConvBERT whose shapes transformers can build."""
    return Architecture(
        depth=depth or size.depth,
        width=width,
        embedding_width=EMBEDDING_WIDTH,
        heads=HEADS,
        bottleneck_ratio=conv_bert.HEAD_RATIO,
        convolution=SpanDynamic(kernel_size=KERNEL_SIZE),
        feed_forward_width=FEED_FORWARD_RATIO * width,
        vocabulary_size=size.vocabularies[0],
    )


def pair(built: Architecture, checkpointing: ActivationCheckpointing = "none") -> tuple[Encoder, torch.nn.Module]:
    """Return both encoders with the same random weights, in training mode, without dropout."""
    theirs, ours = conv_bert.build(built), Encoder(built, 0.0, activation_checkpointing=checkpointing).train()
    scatter(theirs)
    conv_bert.copy_weights(theirs, ours)
    return ours, theirs


@torch.no_grad()
def scatter(theirs: torch.nn.Module) -> None:
    """Redraw every weight of a peer, with a spread large enough for each to affect the output."""
    random = torch.Generator().manual_seed(1)
    for name, parameter in theirs.named_parameters():
        gain = float(name.endswith("LayerNorm.weight"))
        parameter.copy_(torch.randn(parameter.shape, generator=random) * WEIGHT_SPREAD + gain)


def tokens_of(size: Size) -> Tensor:
    """Return random tokens, [batch seq]; no special ones, since the peer's padding row has no gradient."""
    random = torch.Generator().manual_seed(2)
    return torch.randint(5, size.vocabularies[0], (size.batch, size.length), generator=random)


def forwards(
    ours: Encoder, theirs: torch.nn.Module, size: Size, precision: torch.dtype
) -> list[Callable[[], Tensor]]:
    """Return both sides' forward passes to hidden states [batch seq width]."""
    tokens = tokens_of(size)

    def our_forward() -> Tensor:
        with ours_in(precision):
            hidden: Tensor = ours(tokens)
            return hidden

    def their_forward() -> Tensor:
        with theirs_in(precision):
            hidden: Tensor = theirs(input_ids=tokens)[0]
            return hidden

    return [our_forward, their_forward]


def agree(ours: Encoder, theirs: torch.nn.Module, size: Size, precision: torch.dtype) -> None:
    """Compare hidden states, and the gradient of the token table, which depends on all other gradients."""
    sides = forwards(ours, theirs, size, precision)
    (our_hidden, their_hidden) = (side() for side in sides)
    check("hidden states", our_hidden, their_hidden, TOLERANCES[precision])
    tables = (ours.embeddings.tokens.weight, theirs.get_input_embeddings().weight)  # type: ignore[operator]
    gradients = []
    for hidden, table in zip((our_hidden, their_hidden), tables, strict=True):
        (gradient,) = torch.autograd.grad(hidden, table, _direction(hidden))
        gradients.append(gradient)
    unit = gradients[1].abs().max()
    check("gradient of the token table", gradients[0] / unit, gradients[1] / unit, TOLERANCES[precision])


def measure(size: Size, width: int, precision: torch.dtype, pace: Pace) -> Figure:
    """Return the ratio of the CPU times of forward and backward."""
    need(precision)
    built = architecture(size, width)
    ours, theirs = pair(built)
    agree(ours, theirs, size, precision)
    our_forward, their_forward = forwards(ours, theirs, size, precision)
    steps = (_step(ours, our_forward), _step(theirs, their_forward))
    operations = FORWARD_AND_BACKWARD * size.batch * built.forward_flops(size.length)
    compared = compare(*steps, pace, precision)
    speed = size.batch * size.length / compared.their_seconds
    return speed_figure(compared, operations, f"peer {speed:,.0f} tokens/s")


def _direction(hidden: Tensor) -> Tensor:
    return torch.randn(hidden.shape, generator=torch.Generator().manual_seed(3)).to(hidden.dtype)


def _step(model: torch.nn.Module, forward: Callable[[], Tensor]) -> Callable[[], None]:
    direction = _direction(forward().detach())

    def step() -> None:
        model.zero_grad(set_to_none=True)
        forward().backward(direction)

    return step
