"""Layer norm on CUDA devices, of a sum of a residual and a sublayer's output with dropout, in one kernel.

Ba et al. 2016, arXiv 1607.06450. Statistics and sums are in float32; what is stored has the type of the input, so the
casts around torch's kernel, which autocast gives float32, are not needed. The pattern of dropout is a function of the
seed and the position (Philox), drawn again in the backward pass. Gradients of the gains are summed in a fixed order.
"""

from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

ELEMENTS, PROGRAMS = 1024, 256
"""Elements of a tile of rows; programs of the backward pass, each of which sums the gradient of the gains."""


def residual_norm(
    x: Float[Tensor, "*batch width"],
    added: Float[Tensor, "*batch width"] | None,
    weight: Float[Tensor, " width"],
    bias: Float[Tensor, " width"] | None,
    epsilon: float,
    dropout: float,
    seed: int,
    dtype: torch.dtype,
) -> Float[Tensor, "*batch width"]:
    """Return the layer norm of x + dropout(added), in a type. Not twice differentiable."""
    result: Tensor = _ResidualNorm.apply(x, added, weight, bias, epsilon, dropout, seed, dtype)  # type: ignore
    return result


class _ResidualNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        added: Tensor | None,
        weight: Tensor,
        bias: Tensor | None,
        epsilon: float,
        dropout: float,
        seed: int,
        dtype: torch.dtype,
    ) -> Tensor:
        x, width = x.contiguous(), x.shape[-1]
        rows, tile, columns = x.numel() // width, *_tile(width)
        out, summed = torch.empty_like(x, dtype=dtype), x if added is None else torch.empty_like(x)
        other = x if added is None else added.contiguous()
        statistics = x.new_empty((2, rows), dtype=torch.float32)
        with torch.cuda.device_of(x):
            _normalise[(triton.cdiv(rows, tile),)](
                *(x, other, weight, weight if bias is None else bias, summed, out, statistics, rows, width, epsilon),
                *(seed, dropout, added is not None, bias is not None, dropout > 0, tile, columns),
            )
        ctx.save_for_backward(summed, weight, statistics)
        ctx.dropout, ctx.seed = dropout, seed
        ctx.dtypes = x.dtype, None if added is None else added.dtype, None if bias is None else bias.dtype
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        summed, weight, statistics = ctx.saved_tensors
        gradient, width = gradients[0].contiguous(), summed.shape[-1]
        dtype, added_dtype, bias_dtype = ctx.dtypes
        rows, tile, columns = summed.numel() // width, *_tile(width)
        programs = min(PROGRAMS, triton.cdiv(rows, tile))
        to_x = torch.empty_like(summed, dtype=dtype)
        apart = added_dtype is not None and (ctx.dropout > 0 or added_dtype != dtype)
        to_added = torch.empty_like(summed, dtype=added_dtype) if apart else to_x
        parts = summed.new_empty((programs, 2, width), dtype=torch.float32)
        with torch.cuda.device_of(summed):
            _differentiate[(programs,)](
                *(summed, gradient, weight, statistics, to_x, to_added, parts, rows, width, ctx.seed, ctx.dropout),
                *(apart, apart and ctx.dropout > 0, tile, columns, programs),
            )
        to_weight, to_bias = parts.sum(0)
        return (
            to_x,
            None if added_dtype is None else to_added,
            to_weight.to(weight.dtype),
            None if bias_dtype is None else to_bias.to(bias_dtype),
            *(None, None, None, None),
        )


def _tile(width: int) -> tuple[int, int]:
    """Return the rows and the columns of a tile."""
    columns = triton.next_power_of_2(width)
    return max(1, ELEMENTS // columns), columns


# Kernels: Triton compiles their source with the types of the launch; they are not type-checked.
# ruff: noqa: PLR0913, PLR0917


@triton.jit
@no_type_check
def _normalise(
    x, added, weight, bias, summed, out, statistics, rows, width, epsilon, seed, dropout,
    has_added: tl.constexpr, has_bias: tl.constexpr, drops: tl.constexpr, tile: tl.constexpr, columns: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * tile + tl.arange(0, tile)
    column = tl.arange(0, columns)
    place, inside = _place(row, column, rows, width)
    values = tl.load(x + place, inside, 0.0).to(tl.float32)
    if has_added:
        more = tl.load(added + place, inside, 0.0).to(tl.float32)
        if drops:
            more = more * _kept(seed, place, dropout)
        rounded = (values + more).to(summed.dtype.element_ty)
        tl.store(summed + place, rounded, inside)
        values = rounded.to(tl.float32)
    mean = tl.sum(values, 1) / width
    centred = tl.where(inside, values - mean[:, None], 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centred * centred, 1) / width + epsilon)
    result = centred * scale[:, None] * tl.load(weight + column, column < width, 0.0).to(tl.float32)[None, :]
    if has_bias:
        result += tl.load(bias + column, column < width, 0.0).to(tl.float32)[None, :]
    tl.store(out + place, result.to(out.dtype.element_ty), inside)
    tl.store(statistics + row, mean, row < rows)
    tl.store(statistics + rows + row, scale, row < rows)


@triton.jit
@no_type_check
def _differentiate(
    summed, gradient, weight, statistics, to_x, to_added, parts, rows, width, seed, dropout,
    apart: tl.constexpr, drops: tl.constexpr, tile: tl.constexpr, columns: tl.constexpr, programs: tl.constexpr,
):  # fmt: skip
    column = tl.arange(0, columns)
    gains = tl.load(weight + column, column < width, 0.0).to(tl.float32)[None, :]
    of_weight, of_bias = tl.zeros([columns], tl.float32), tl.zeros([columns], tl.float32)
    for begin in range(tl.program_id(0) * tile, rows, programs * tile):
        row = begin + tl.arange(0, tile)
        place, inside = _place(row, column, rows, width)
        mean = tl.load(statistics + row, row < rows, 0.0)
        scale = tl.load(statistics + rows + row, row < rows, 0.0)
        values = tl.load(summed + place, inside, 0.0).to(tl.float32)
        normalised = tl.where(inside, (values - mean[:, None]) * scale[:, None], 0.0)
        wanted = tl.load(gradient + place, inside, 0.0).to(tl.float32)
        of_weight += tl.sum(wanted * normalised, 0)
        of_bias += tl.sum(wanted, 0)
        wanted = wanted * gains
        along, level = tl.sum(wanted * normalised, 1) / width, tl.sum(wanted, 1) / width
        result = (wanted - normalised * along[:, None] - level[:, None]) * scale[:, None]
        tl.store(to_x + place, result.to(to_x.dtype.element_ty), inside)
        if apart:
            if drops:
                result = result * _kept(seed, place, dropout)
            tl.store(to_added + place, result.to(to_added.dtype.element_ty), inside)
    start = parts + tl.program_id(0) * 2 * width + column
    tl.store(start, of_weight, column < width)
    tl.store(start + width, of_bias, column < width)


@triton.jit
@no_type_check
def _place(row, column, rows, width):
    """Return where the elements of rows are, and whether they exist."""
    inside = (row < rows)[:, None] & (column < width)[None, :]
    return row.to(tl.int64)[:, None] * width + column[None, :], inside


@triton.jit
@no_type_check
def _kept(seed, place, dropout):
    """Return 0 where dropout drops an element, and the factor of those that stay."""
    return tl.where(tl.rand(seed, place.to(tl.int32)) < dropout, 0.0, 1.0 / (1.0 - dropout))
