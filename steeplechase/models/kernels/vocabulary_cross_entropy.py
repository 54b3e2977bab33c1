"""Cross-entropy over a vocabulary, and tokens sampled from the same softmax in one pass over the logits.

Sampling inverts the cumulative distribution at one uniform number per row, at temperature 1 (ELECTRA section 3.1).
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.library import custom_op
from torch.nn.functional import cross_entropy, linear

from steeplechase.models.kernels import window
from steeplechase.models.kernels.native import bindings
from steeplechase.models.precision import UNIT, to_autocast_dtype, to_float32

FEW_ROWS = 8
"""Up to as many vectors, as one step of decoding has, the table is the left factor: MKL's product of a few rows with
the transpose of a large matrix takes up to twice as long (measured, 8,192 to 30,522 tokens of width 256)."""


def vocabulary_logits(
    x: Float[Tensor, "... width"], table: Float[Tensor, "vocab width"], bias: Float[Tensor, " vocab"] | None = None
) -> Float[Tensor, "... vocab"]:
    """Return the products, with a bias per token where there is one, in the type of the vectors."""
    table, bias = table.to(x.dtype), None if bias is None else bias.to(x.dtype)
    few = x.dim() == 2 and len(x) <= FEW_ROWS and x.device.type == "cpu" and x.dtype == torch.float32
    if not few or torch.is_grad_enabled():
        return linear(x, table, bias)
    return (table @ x.t() if bias is None else torch.addmm(bias[:, None], table, x.t())).t()


Uniforms = Float[Tensor, " predicted"] | None


def vocabulary_cross_entropy(
    x: Float[Tensor, "predicted embedding"],
    table: Float[Tensor, "vocab embedding"],
    bias: Float[Tensor, " vocab"],
    targets: Int[Tensor, " predicted"],
    uniforms: Uniforms = None,
) -> tuple[Float[Tensor, ""], Int[Tensor, " predicted"]]:
    """Return the mean cross-entropy in nats of the targets under softmax(x table^T + bias), and sampled tokens.

    Without uniform numbers nothing is sampled and the targets are returned in place of samples.
    """
    x, table = to_autocast_dtype(x), to_autocast_dtype(table)
    if bindings.usable(x, table, bias):
        loss, tokens = _VocabularyCrossEntropy.apply(x, table, bias, targets, uniforms)  # type: ignore[no-untyped-call]
        return loss, tokens
    if window.has_fused(x):
        fused: tuple[Tensor, Tensor] = _OnDevice.apply(x, table, bias, targets, uniforms)  # type: ignore
        return fused
    logits = to_float32(linear(x, table, bias.to(x.dtype)))
    return cross_entropy(logits, targets), targets if uniforms is None else sample_tokens(logits.detach(), uniforms)


def smoothed_cross_entropy(
    x: Float[Tensor, "predicted embedding"],
    table: Float[Tensor, "vocab embedding"],
    bias: Float[Tensor, " vocab"],
    targets: Int[Tensor, " predicted"],
    label_smoothing: float,
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy in nats, with a share of the target distribution spread over the vocabulary.

    Szegedy et al. 2015, arXiv 1512.00567, section 7. With a share ε it is the cross-entropy of the targets plus
    ε (z_t - z̄), the logit of the target and the mean of all logits. Both are products of x, with a row of the table
    and with the mean of its rows, so that no second pass over the vocabulary is needed.
    """
    loss, _ = vocabulary_cross_entropy(x, table, bias, targets)
    if not label_smoothing:
        return loss
    direction = (table[targets] - table.mean(0)).to(x.dtype)
    above_mean = to_float32((x * direction).sum(-1)) + bias[targets] - bias.mean()
    return loss + label_smoothing * above_mean.mean()


def sample_tokens(
    logits: Float[Tensor, "predicted vocab"], uniforms: Float[Tensor, " predicted"]
) -> Int[Tensor, " predicted"]:
    """Return for every row the first token whose cumulative probability exceeds its uniform number."""
    if logits.device.type != "cpu":
        return _sampled_in_integers(logits, uniforms)
    cumulative = to_float32(logits).softmax(-1).cumsum(-1)
    tokens = torch.searchsorted(cumulative, uniforms[:, None].to(cumulative.dtype) * cumulative[:, -1:], right=True)
    return tokens.clamp_(max=logits.shape[-1] - 1).squeeze(-1)


def _sampled_in_integers(
    logits: Float[Tensor, "predicted vocab"], uniforms: Float[Tensor, " predicted"]
) -> Int[Tensor, " predicted"]:
    """Return the same by integers: a GPU's cumulative sum of floating-point numbers is not deterministic."""
    parts = to_float32(logits).softmax(-1).mul_(UNIT).round_().to(torch.int32)
    cumulative = parts.cumsum(-1, dtype=torch.int32)
    places = (uniforms[:, None].double() * cumulative[:, -1:]).to(torch.int32)
    tokens = torch.searchsorted(cumulative, places, right=True)
    return tokens.clamp_(max=logits.shape[-1] - 1).squeeze(-1)


class _VocabularyCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, table: Tensor, bias: Tensor, targets: Tensor, uniforms: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        probabilities = x @ table.T
        losses, tokens = bindings.vocabulary_softmax(probabilities, bias, targets, uniforms)
        ctx.save_for_backward(x, table, probabilities, targets)
        ctx.mark_non_differentiable(tokens)
        return losses.mean(), targets if uniforms is None else tokens

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        # the gradient of the logits is the probabilities, minus one at the targets; it is never materialised
        x, table, probabilities, targets = ctx.saved_tensors
        scale = (gradients[0] / len(x)).to(x.dtype)
        to_x = (probabilities @ table - table[targets]) * scale
        to_table = (probabilities.T @ (x * scale)).index_add_(0, targets, -x * scale)
        if not ctx.needs_input_grad[2]:
            return to_x, to_table, None, None, None
        to_bias = probabilities.T @ scale.expand(len(x))
        return to_x, to_table, to_bias.float().index_add_(0, targets, -scale.float().expand(len(x))), None, None


@custom_op("steeplechase::vocabulary_softmax", mutates_args=())
def _softmax_on_device(
    logits: Tensor, bias: Tensor, targets: Tensor, uniforms: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return losses, tokens and the gradient of the logits, of `triton_vocabulary.softmax_of`."""
    from steeplechase.models.kernels.triton_vocabulary import softmax_of

    return softmax_of(logits, bias, targets, uniforms)


@_softmax_on_device.register_fake
def _like_logits(logits: Tensor, bias: Tensor, targets: Tensor, *_: Any) -> tuple[Tensor, Tensor, Tensor]:
    losses = logits.new_empty(len(logits), dtype=torch.float32)
    return losses, torch.empty_like(targets), torch.empty_like(logits)


class _OnDevice(torch.autograd.Function):
    """The same in Triton: the logits are held once, in their own type, and then as their gradient."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, table: Tensor, bias: Tensor, targets: Tensor, uniforms: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        losses, tokens, gradients = _softmax_on_device(x @ table.T, bias, targets, uniforms)
        ctx.save_for_backward(x, table, gradients)
        ctx.mark_non_differentiable(tokens)
        return losses.mean(), tokens

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, table, of_logits = ctx.saved_tensors
        scale = gradients[0].view(1, 1) / len(x)  # with axes, so that a product with it is in float32
        to_x = (of_logits @ table * scale).to(x.dtype)
        to_table = of_logits.T @ (x * scale).to(x.dtype)
        to_bias = of_logits.sum(0, dtype=torch.float32) * scale[0] if ctx.needs_input_grad[2] else None
        return to_x, to_table, to_bias, None, None
