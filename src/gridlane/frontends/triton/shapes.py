"""Shapes of tensors: broadcasting, reshaping, joining."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

from gridlane.core.dtypes import i32
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.context import builder, builtin
from gridlane.frontends.triton.numbers import to_tensor
from gridlane.frontends.triton.types import block_type, checked_shape, int32, to_ir
from gridlane.frontends.triton.values import define, member, tensor
from gridlane.ir.ops import tiles
from gridlane.ir.types import TileType, tile


def as_pointers(pointer: tensor, *values: tensor) -> list[tensor]:
    """Values beside a tile of pointers broadcast to its shape.

    Raises:
        ValueError: they have a larger one.
    """
    shape = pointer.shape
    for value in values:
        shape = common_shape(shape, value.shape)
    if shape != pointer.shape:
        raise ValueError(
            f"Expected pointer argument to have shape {list(shape)} but got {list(pointer.shape)}"
        )
    return [_to_rank(value, shape) if value.shape else splat(value, shape) for value in values]


def splat(value: tensor, shape: tuple[int, ...]) -> tensor:
    """The tile that has a scalar everywhere; the scalar itself for no axes."""
    if not shape:
        return value
    kind = block_type(value.dtype, shape)
    type_ = to_ir(kind)
    assert isinstance(type_, TileType)
    return tensor(builder().value(tiles.TileSplat(value.handle, type_)), kind)


def reshaped(value: tensor, shape: tuple[int, ...]) -> tensor:
    """The elements in row-major order in another shape."""
    if value.shape == shape:
        return value
    if not value.shape:
        return splat(value, shape)
    if value.numel != prod(shape):
        raise ValueError("reshape() cannot change total number of elements in tensor")
    if not shape:
        return tensor(builder().value(tiles.TileItem(value.handle)), value.dtype)
    kind = block_type(value.dtype, shape)
    type_ = to_ir(kind)
    assert isinstance(type_, TileType)
    return tensor(builder().value(tiles.TileReshape(value.handle, type_)), kind)


def expanded(value: tensor, axis: int) -> tensor:
    """The tensor with an axis of extent 1."""
    return reshaped(value, (*value.shape[:axis], 1, *value.shape[axis:]))


def broadcast_shape(value: tensor, shape: tuple[int, ...]) -> tensor:
    """The tensor repeated along the axes where its extent is 1."""
    if not value.shape:
        return splat(value, shape)
    if value.shape == shape:
        return value
    old, new = list(value.shape), list(shape)
    if len(old) != len(new):
        raise ValueError(f"Cannot broadcast, rank mismatch: {old}, {new}")
    for axis, extent in enumerate(old):
        if new[axis] != extent and extent != 1:
            raise ValueError(
                f"Cannot broadcast, the expanded size of the tensor ({new[axis]}) must match the "
                f"existing size ({extent}) at non-singleton dimension {axis}: {old}, {new}"
            )
    kind = block_type(value.dtype, shape)
    type_ = to_ir(kind)
    assert isinstance(type_, TileType)
    return tensor(builder().value(tiles.TileBroadcast(value.handle, type_)), kind)


def common_shape(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that two broadcast to."""
    rank = max(len(first), len(second))
    first = (1,) * (rank - len(first)) + first
    second = (1,) * (rank - len(second)) + second
    for axis, (left, right) in enumerate(zip(first, second, strict=True)):
        if left != right and 1 not in (left, right):
            raise ValueError(
                "Cannot make_shape_compatible: incompatible dimensions "
                f"at index {axis}: {left} and {right}"
            )
    return tuple([max(pair) for pair in zip(first, second, strict=True)])


def matched(*values: tensor) -> list[tensor]:
    """Tensors with the tiles among them broadcast to one shape; scalars stay scalars."""
    shape: tuple[int, ...] = ()
    for value in values:
        shape = common_shape(shape, value.shape) if shape and value.shape else shape or value.shape
    return [_to_rank(value, shape) if value.shape else value for value in values]


def _to_rank(value: tensor, shape: tuple[int, ...]) -> tensor:
    ones = (1,) * (len(shape) - len(value.shape))
    return broadcast_shape(reshaped(value, ones + value.shape), shape)


def broadcast_pair(first: tensor, second: tensor) -> tuple[tensor, tensor]:
    """Two tensors broadcast to one shape, a scalar beside a tile too."""
    one, two = matched(first, second)
    shape = one.shape or two.shape
    return broadcast_shape(one, shape), broadcast_shape(two, shape)


def axis_of(axis: Any, rank: int) -> int:
    """An axis from the front.

    Raises:
        ValueError: there is no such axis.
    """
    number = unwrapped(axis)
    if type(number) is not int or not -rank <= number < rank:
        raise ValueError(f"invalid axis {number}. Expected {-rank} <= axis < {rank}")
    return number % rank


def listed(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments that may come as one tuple."""
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        return tuple(cast("Sequence[Any]", values[0]))
    return values


def shape_given(values: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape that may come as one tuple."""
    return checked_shape(listed(values))


# ---- the language's


@builtin
def broadcast(input: tensor, other: tensor) -> tuple[tensor, tensor]:
    """Two tensors of one shape."""
    return broadcast_pair(input, other)


@member
@builtin
def broadcast_to(input: tensor, *shape: Any) -> tensor:
    """The tensor repeated to a shape."""
    return broadcast_shape(input, shape_given(shape))


@member
@builtin
def reshape(input: tensor, *shape: Any, can_reorder: bool = False) -> tensor:
    """The elements in another shape, in row-major order."""
    return reshaped(input, shape_given(shape))


@member
@builtin
def view(input: tensor, *shape: Any) -> tensor:
    """The elements in another shape."""
    return reshaped(input, shape_given(shape))


@member
@builtin
def ravel(x: tensor, can_reorder: bool = False) -> tensor:
    """The elements as one axis."""
    return reshaped(x, (x.numel,))


@member
@builtin
def item(input: tensor) -> tensor:
    """The only element, as a scalar."""
    if input.numel != 1:
        raise ValueError("can only unsplat single-element tensors")
    return reshaped(input, ())


@member
@builtin
def expand_dims(input: Any, axis: Any) -> tensor:
    """The tensor with further axes of extent 1."""
    input = to_tensor(input)
    axes = unwrapped(axis)
    axes = tuple(axes) if isinstance(axes, (tuple, list)) else (axes,)
    rank = len(input.shape) + len(axes)
    places = [axis_of(each, rank) for each in axes]
    if len({*places}) != len(places):
        raise ValueError(f"expand_dims received duplicate axes, normalized axes = {places}")
    for place in sorted(places):
        input = expanded(input, place)
    return input


@member
@builtin
def permute(input: tensor, *dims: Any) -> tensor:
    """The tensor with its axes in another order."""
    order = tuple([unwrapped(each) for each in listed(dims)])
    rank = len(input.shape)
    if len(order) != rank:
        raise ValueError("permute dims must have the same length as input shape")
    if sorted(order) != [*range(rank)]:
        raise ValueError(f"permute dims must be a permutation of 0, 1, ..., n-1, but were {order}")
    if order == tuple(range(rank)):
        return input
    handle = builder().value(tiles.TileTranspose(input.handle, order))
    return tensor(handle, block_type(input.dtype, [input.shape[axis] for axis in order]))


@member
@builtin
def trans(input: tensor, *dims: Any) -> tensor:
    """The tensor with its axes in another order; the last two change places by default."""
    if listed(dims):
        return permute(input, *dims)
    rank = len(input.shape)
    if rank < 2:
        raise ValueError("tl.trans invalid axes: a tensor of two axes or more is required")
    return permute(input, *range(rank - 2), rank - 1, rank - 2)


define("T", property(trans))


@builtin
def squeeze(x: tensor, dim: Any) -> tensor:
    """The tensor without an axis of extent 1."""
    axis = axis_of(dim, len(x.shape))
    if x.shape[axis] != 1:
        raise ValueError(f"axis {axis} has {x.shape[axis]} elements, not 1")
    return reshaped(x, (*x.shape[:axis], *x.shape[axis + 1 :]))


@builtin
def unsqueeze(x: tensor, dim: Any) -> tensor:
    """The tensor with an axis of extent 1."""
    return expand_dims(x, dim)


@builtin
def join(a: tensor, b: tensor) -> tensor:
    """Two tensors side by side along a new last axis."""
    a, b = broadcast_pair(a, b)
    if a.dtype != b.dtype:
        raise TypeError(f"join() takes two tensors of one type, not {a.dtype} and {b.dtype}")
    rank = len(a.shape)
    if not rank:
        a, b = reshaped(a, (1,)), reshaped(b, (1,))
    handle = builder().value(tiles.TileJoin(a.handle, b.handle))
    result = tensor(handle, block_type(a.dtype, (*a.shape, 2)))
    return result if rank else reshaped(result, (2,))


@member
@builtin
def split(a: tensor) -> tuple[tensor, tensor]:
    """The two tensors along the last axis, of extent 2."""
    if not a.shape or a.shape[-1] != 2:
        raise ValueError(f"split() takes a tensor whose last axis has 2 elements, not {a.type}")
    rank = len(a.shape)
    whole = reshaped(a, (1, 2)) if rank == 1 else a
    kind = block_type(a.dtype, whole.shape[:-1])
    halves = builder().emit(tiles.TileSplit(whole.handle)).results
    first, second = [tensor(half, kind) for half in halves]
    return (item(first), item(second)) if rank == 1 else (first, second)


@builtin
def cat(input: tensor, other: tensor, can_reorder: bool = False, dim: int = 0) -> tensor:
    """Two tensors one behind the other."""
    if input.dtype != other.dtype:
        raise TypeError(f"cat() takes two tensors of one type, not {input.dtype}, {other.dtype}")
    axis = axis_of(dim, len(input.shape))
    shape = list(input.shape)
    shape[axis] += other.shape[axis]
    handle = builder().value(tiles.TileCat(input.handle, other.handle, axis))
    return tensor(handle, block_type(input.dtype, shape))


@builtin
def interleave(a: tensor, b: tensor) -> tensor:
    """The elements of two tensors by turns along the last axis."""
    pair = join(a, b)
    if len(pair.shape) == 1:
        return pair
    return reshaped(pair, (*pair.shape[:-2], 2 * pair.shape[-2]))


def iota(start: int, count: int) -> tensor:
    """``start`` and the numbers behind it."""
    handle = builder().value(tiles.TileIota(start, tile((count,), i32)))
    return tensor(handle, block_type(int32, (count,)))


@builtin
def arange(start: Any, end: Any) -> tensor:
    """The numbers from ``start`` to ``end``, a power of two of them."""
    start, end = unwrapped(start), unwrapped(end)
    if type(start) is not int or type(end) is not int:
        raise ValueError("arange's arguments must be of type tl.constexpr")
    if start >> 32 not in (0, -1) or end >> 32 not in (0, -1):
        raise ValueError("arange must fit in int32")
    if end <= start:
        raise ValueError("arange's end argument must be greater than the start argument")
    if (end - start) & (end - start - 1):
        raise ValueError("arange's range must be a power of 2")
    return iota(start, end - start)


def along(shape: tuple[int, ...], axis: int, start: int = 0) -> tensor:
    """The index of each element along an axis, in an extent of 1 along the others."""
    extents = [1] * len(shape)
    extents[axis] = shape[axis]
    return reshaped(iota(start, shape[axis]), tuple(extents))


def index_along(shape: tuple[int, ...], axis: int) -> tensor:
    """The index of each element along an axis."""
    return broadcast_shape(along(shape, axis), shape)
