"""Order of elements along an axis: sorting, selecting, reversing, counting."""

from __future__ import annotations

from typing import Any

from gridlane.frontends.triton.arithmetic import sub
from gridlane.frontends.triton.casting import converted
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.context import builder, builtin
from gridlane.frontends.triton.memory import as_mask
from gridlane.frontends.triton.numbers import to_tensor
from gridlane.frontends.triton.shapes import along, axis_of, broadcast_shape
from gridlane.frontends.triton.types import block_type, int32, require_arithmetic
from gridlane.frontends.triton.values import member, tensor
from gridlane.ir.ops import tiles


def _ordered(x: tensor, dim: Any, descending: Any, count: int) -> tensor:
    require_arithmetic(x.dtype, "sorting")
    rank = len(x.shape)
    axis = axis_of(rank - 1 if unwrapped(dim) is None else dim, rank)
    if axis != rank - 1:
        raise ValueError("only minor dimension is currently supported")
    op = tiles.TileSort(x.handle, axis, bool(unwrapped(descending)), count)
    shape = (*x.shape[:-1], count or x.shape[-1])
    return tensor(builder().value(op), block_type(x.dtype, shape))


@member
@builtin
def sort(x: tensor, dim: Any = None, descending: Any = False) -> tensor:
    """The elements of each line along the last axis in order."""
    return _ordered(x, dim, descending, 0)


@builtin
def topk(x: tensor, k: Any, dim: Any = None, descending: Any = True) -> tensor:
    """The largest elements of each line along the last axis, the largest first; or the smallest."""
    count = unwrapped(k)
    if type(count) is not int or not 0 < count <= x.shape[-1]:
        raise ValueError(f"topk() takes 1 to {x.shape[-1]} elements, not {count}")
    return _ordered(x, dim, descending, count)


@builtin
def bitonic_merge(x: tensor, dim: Any = None, descending: Any = False) -> tensor:
    """A sequence that first rises, then falls, in order."""
    return _ordered(x, dim, descending, 0)


@member
@builtin
def gather(src: tensor, index: tensor, axis: Any) -> tensor:
    """The elements of ``src`` at indices along an axis."""
    if not index.dtype.is_int():
        raise TypeError("index must be an integer tensor")
    rank = len(src.shape)
    if len(index.shape) != rank:
        raise ValueError("source and index tensors must have the same rank")
    place = axis_of(axis, rank)
    for other in range(rank):
        if other != place and index.shape[other] != src.shape[other]:
            raise ValueError(f"index dim {other} must match the corresponding source dim")
    op = tiles.TileGather(src.handle, converted(index, int32).handle, place)
    return tensor(builder().value(op), block_type(src.dtype, index.shape))


@member
@builtin
def flip(x: tensor, dim: Any = None) -> tensor:
    """The elements in reverse order along an axis, the last one by default."""
    axis = axis_of(len(x.shape) - 1 if unwrapped(dim) is None else dim, len(x.shape))
    back = broadcast_shape(sub(x.shape[axis] - 1, along(x.shape, axis)), x.shape)
    return gather(x, back, axis)


@member
@builtin
def histogram(input: tensor, num_bins: Any, mask: Any = None) -> tensor:
    """How many elements have each value from 0 to ``num_bins`` - 1."""
    if len(input.shape) != 1:
        raise ValueError("histogram only supports 1D input")
    if not input.dtype.is_int():
        raise TypeError("histogram only supports integer input")
    bins, truth = unwrapped(num_bins), unwrapped(mask)
    masks = ()
    if truth is not None:
        masks = (broadcast_shape(as_mask(to_tensor(truth)), input.shape).handle,)
    op = tiles.TileHistogram(input.handle, masks, bins)
    return tensor(builder().value(op), block_type(int32, (bins,)))
