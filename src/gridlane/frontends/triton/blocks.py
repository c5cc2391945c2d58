"""Blocks of arrays in memory: block pointers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar, cast

from gridlane.frontends.triton.arithmetic import add
from gridlane.frontends.triton.casting import converted
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.context import builder, builtin
from gridlane.frontends.triton.numbers import constant
from gridlane.frontends.triton.shapes import broadcast_shape, item
from gridlane.frontends.triton.types import (
    block_type,
    checked_shape,
    dtype,
    int32,
    int64,
    pointer_type,
    to_ir,
)
from gridlane.frontends.triton.values import tensor
from gridlane.ir.ops import tile_memory
from gridlane.ir.ops.tile_memory import Padding
from gridlane.ir.types import TileType


class BlockPointer:
    """The place of a block in an array; see ``make_block_ptr``."""

    is_aggregate: ClassVar[bool] = True

    def __init__(
        self,
        base: tensor,
        extents: tuple[tensor, ...],
        strides: tuple[tensor, ...],
        starts: tuple[tensor, ...],
        block_shape: tuple[int, ...],
    ) -> None:
        self.base, self.extents, self.strides, self.starts = base, extents, strides, starts
        self.block_shape = block_shape

    @property
    def element(self) -> dtype:
        """The type of the elements."""
        assert isinstance(self.base.dtype, pointer_type)
        return self.base.dtype.element_ty

    @property
    def type(self) -> pointer_type:
        """A pointer to a block."""
        return pointer_type(block_type(self.element, self.block_shape))

    @property
    def dtype(self) -> dtype:
        """The type, as of a scalar pointer."""
        return self.type

    def parts(self) -> tuple[Any, ...]:
        """The values that it is made of."""
        return self.base, self.extents, self.strides, self.starts

    def with_parts(self, parts: tuple[Any, ...]) -> BlockPointer:
        """The same with other values."""
        base, extents, strides, starts = parts
        return BlockPointer(base, extents, strides, starts, self.block_shape)

    def facts(self) -> Hashable:
        """The shape of the block."""
        return self.block_shape

    def __str__(self) -> str:
        return str(self.type)

    __repr__ = __str__

    def advance(self, offsets: Any) -> BlockPointer:
        """The block some elements further."""
        return advance(self, offsets)


def integers(values: Any, kind: dtype) -> tuple[tensor, ...]:
    """Extents, strides or offsets as scalars of int64 or int32.

    Raises:
        TypeError: one is no integer, or an int64 where an int32 is required.
    """
    plain = unwrapped(values)
    items = cast("tuple[Any, ...]", tuple(plain) if isinstance(plain, (tuple, list)) else (plain,))
    return tuple([_integer(unwrapped(each), kind) for each in items])


def _integer(value: Any, kind: dtype) -> tensor:
    if isinstance(value, int):
        if not kind.get_int_min_value() <= value <= kind.get_int_max_value():
            raise ValueError(
                "Block pointers only support 64 bit `shape/strides` and 32 bit "
                f"`offsets/block_shape`, got a value {value} which is out of the range"
            )
        return constant(value, kind)
    if not isinstance(value, tensor):
        raise TypeError(f"Unsupported element type in shape/strides/offsets: {type(value)}")
    if value.numel != 1:
        raise ValueError("Expected a scalar in shape/strides/offsets")
    scalar = item(value) if value.shape else value
    if not scalar.dtype.is_int():
        raise TypeError("Expected an integer scalar type in shape/strides/offsets")
    if kind == int32 and scalar.dtype.int_bitwidth > 32:
        raise TypeError(
            "Block pointers only support 32 bit `offsets/block_shape`, "
            "add a `.to(tl.int32)` or use regular indexing for 64 bit support"
        )
    return converted(scalar, kind)


@builtin
def make_block_ptr(
    base: tensor, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any
) -> BlockPointer:
    """The block of ``block_shape`` elements at ``offsets`` in an array of ``shape``."""
    if not isinstance(base, tensor) or not isinstance(base.type, pointer_type):
        raise ValueError(
            "Expected `base` to be a pointer type (but not a block pointer type or others)"
        )
    extents, steps = integers(shape, int64), integers(strides, int64)
    starts, block = integers(offsets, int32), checked_shape(block_shape)
    plain = unwrapped(order)
    order = [unwrapped(each) for each in (plain if isinstance(plain, (tuple, list)) else (plain,))]
    if sorted(order) != [*range(len(order))]:
        raise ValueError("Expected a permutation of (0, 1, ..., len(order)-1) in order")
    if any(len(each) != len(block) for each in (extents, steps, starts, order)):
        raise ValueError("Expected shape/strides/offsets/block_shape to have the same length")
    return BlockPointer(base, extents, steps, starts, block)


@builtin
def advance(base: BlockPointer, offsets: Any) -> BlockPointer:
    """The block some elements further along each axis."""
    moves = integers(offsets, int32)
    if len(moves) != len(base.starts):
        raise ValueError(f"advance() takes {len(base.starts)} offsets, not {len(moves)}")
    starts = tuple([add(old, move) for old, move in zip(base.starts, moves, strict=True)])
    return BlockPointer(base.base, base.extents, base.strides, starts, base.block_shape)


advance._must_use_result = (  # type: ignore[attr-defined]
    "Note that tl.advance does not have any side effects. To move the block pointer, you need to "
    "assign the result of tl.advance to a variable."
)


def _checked(axes: Any, rank: int) -> tuple[int, ...]:
    plain = unwrapped(axes)
    items = tuple(plain) if isinstance(plain, (tuple, list)) else (plain,)
    result = sorted([unwrapped(axis) for axis in items])
    if any(type(axis) is not int or not 0 <= axis < rank for axis in result):
        raise ValueError(f"`boundary_check` names axes from 0 to {rank - 1}, not {items}")
    if len({*result}) != len(result):
        raise ValueError("Duplicate dimension in `boundary_check`")
    return tuple(result)


def padding_of(option: Any, kind: dtype) -> Padding:
    """What is read beyond an array."""
    if option not in ("", None, "zero", "nan"):
        raise ValueError(f"Padding option {option} not supported")
    if option == "nan" and (kind.is_int() or kind.is_fp8()):
        raise ValueError("Padding option `nan` is not supported for integer block pointers")
    return Padding.NANS if option == "nan" else Padding.ZEROS


def load_block(pointer: BlockPointer, checked: Any, padding: Any, cache: str) -> tensor:
    """The elements of a block."""
    kind = block_type(pointer.element, pointer.block_shape)
    type_ = to_ir(kind)
    assert isinstance(type_, TileType)
    extents, strides, starts = [
        tuple([each.handle for each in values])
        for values in (pointer.extents, pointer.strides, pointer.starts)
    ]
    axes, fill = _checked(checked, len(kind.shape)), padding_of(padding, pointer.element)
    op = tile_memory.TileLoadBlock(
        pointer.base.handle, extents, strides, starts, type_, axes, fill, cache
    )
    return tensor(builder().value(op), kind)


def store_block(pointer: BlockPointer, value: tensor, checked: Any, cache: str) -> None:
    """Write the elements of a block."""
    if not value.shape:
        value = broadcast_shape(value, pointer.block_shape)
    if value.shape != pointer.block_shape:
        raise ValueError(
            f"Block shape({list(pointer.block_shape)}) and value shape({list(value.shape)}) "
            "mismatch"
        )
    if pointer.base.dtype.is_const():
        raise ValueError("Cannot store to a constant pointer")
    new = converted(value, pointer.element)
    extents, strides, starts = [
        tuple([each.handle for each in values])
        for values in (pointer.extents, pointer.strides, pointer.starts)
    ]
    axes = _checked(checked, len(pointer.block_shape))
    builder().emit(
        tile_memory.TileStoreBlock(
            pointer.base.handle, extents, strides, starts, new.handle, axes, cache
        )
    )
