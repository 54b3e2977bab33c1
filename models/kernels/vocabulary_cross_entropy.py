"""Cross-entropy over a vocabulary, and words drawn from the same softmax: one pass over the logits for both.

Drawing inverts the cumulative distribution at one uniform number per row, at temperature 1 (ELECTRA section 3.1).
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy, linear

from models.kernels.native import bindings as calls
from models.precision import to_autocast_dtype, to_float32

Uniforms = Float[Tensor, " predicted"] | None


def word_loss(
    x: Float[Tensor, "predicted embedding"],
    table: Float[Tensor, "vocab embedding"],
    bias: Float[Tensor, " vocab"],
    answers: Int[Tensor, " predicted"],
    uniforms: Uniforms = None,
) -> tuple[Float[Tensor, ""], Int[Tensor, " predicted"]]:
    """Return the mean cross-entropy in nats of the answers under softmax(x table^T + bias), and the drawn words.

    Without uniform numbers nothing is drawn and the words are the answers themselves.
    """
    x, table = to_autocast_dtype(x), to_autocast_dtype(table)
    if calls.usable(x, table, bias):
        loss, words = _WordLoss.apply(x, table, bias, answers, uniforms)  # type: ignore[no-untyped-call]
        return loss, words
    logits = to_float32(linear(x, table, bias.to(x.dtype)))
    return cross_entropy(logits, answers), answers if uniforms is None else drawn_words(logits.detach(), uniforms)


def drawn_words(
    logits: Float[Tensor, "predicted vocab"], uniforms: Float[Tensor, " predicted"]
) -> Int[Tensor, " predicted"]:
    """Return for every row the first word at which the cumulative probability passes its uniform number."""
    cumulative = to_float32(logits).softmax(-1).cumsum(-1)
    words = torch.searchsorted(cumulative, uniforms[:, None].to(cumulative.dtype) * cumulative[:, -1:], right=True)
    return words.clamp_(max=logits.shape[-1] - 1).squeeze(-1)


class _WordLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, table: Tensor, bias: Tensor, answers: Tensor, uniforms: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        probabilities = x @ table.T
        losses, words = calls.vocabulary_softmax(probabilities, bias, answers, uniforms)
        ctx.save_for_backward(x, table, probabilities, answers)
        ctx.mark_non_differentiable(words)
        return losses.mean(), answers if uniforms is None else words

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        # the gradient of the logits is the probabilities, less one at the answers; it is never written down
        x, table, probabilities, answers = ctx.saved_tensors
        each = (gradients[0] / len(x)).to(x.dtype)
        to_x = (probabilities @ table - table[answers]) * each
        to_table = (probabilities.T @ (x * each)).index_add_(0, answers, -x * each)
        to_bias = probabilities.T @ each.expand(len(x))
        return to_x, to_table, to_bias.float().index_add_(0, answers, -each.float().expand(len(x))), None, None
