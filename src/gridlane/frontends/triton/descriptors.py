"""Tensor descriptors: arrays in memory with the shape of the blocks that are read and written."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

from gridlane.frontends.triton.arithmetic import add, compared, logical, mul
from gridlane.frontends.triton.atomics import update
from gridlane.frontends.triton.blocks import BlockPointer, integers, load_block, store_block
from gridlane.frontends.triton.casting import converted
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.context import builder, builtin
from gridlane.frontends.triton.shapes import along, broadcast_pair, expanded
from gridlane.frontends.triton.types import (
    block_type,
    checked_shape,
    dtype,
    int32,
    int64,
    pointer_type,
)
from gridlane.frontends.triton.values import tensor
from gridlane.ir.ops import tile_memory


class tensor_descriptor_type:
    """The type of a descriptor: that of its blocks."""

    def __init__(self, block: block_type) -> None:
        self.block_type = block

    def __str__(self) -> str:
        return f"tensor_descriptor<{self.block_type}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tensor_descriptor_type) and other.block_type == self.block_type

    def __hash__(self) -> int:
        return hash(self.block_type)


class tensor_descriptor:
    """An array in memory: its address, extents and strides in elements, and the shape of blocks."""

    is_aggregate: ClassVar[bool] = True

    def __init__(
        self,
        base: tensor,
        shape: tuple[tensor, ...],
        strides: tuple[tensor, ...],
        block_shape: tuple[int, ...],
        padding: str = "zero",
    ) -> None:
        self.base, self.shape, self.strides = base, shape, strides
        self.block_shape, self.padding = block_shape, padding

    @property
    def dtype(self) -> dtype:
        """The type of the elements."""
        assert isinstance(self.base.dtype, pointer_type)
        return self.base.dtype.element_ty

    @property
    def block_type(self) -> block_type:
        """The type of a block."""
        return block_type(self.dtype, self.block_shape)

    @property
    def type(self) -> tensor_descriptor_type:
        """The type."""
        return tensor_descriptor_type(self.block_type)

    def parts(self) -> tuple[Any, ...]:
        """The values that it is made of."""
        return self.base, self.shape, self.strides

    def with_parts(self, parts: tuple[Any, ...]) -> tensor_descriptor:
        """The same with other values."""
        base, shape, strides = parts
        return tensor_descriptor(base, shape, strides, self.block_shape, self.padding)

    def facts(self) -> Hashable:
        """The shape of blocks, and what is read beyond the array."""
        return self.block_shape, self.padding

    def __str__(self) -> str:
        return str(self.type)

    __repr__ = __str__

    # ---- the language's methods

    def load(self, offsets: Any) -> tensor:
        """The block at offsets."""
        return load_block(self._block(offsets), tuple(range(len(self.shape))), self.padding, "")

    def store(self, offsets: Any, value: tensor) -> None:
        """Write the block at offsets; what lies beyond the array is left out."""
        self._check_value(value)
        store_block(self._block(offsets), value, tuple(range(len(self.shape))), "")

    def _block(self, offsets: Any) -> BlockPointer:
        starts = integers(offsets, int32)
        if len(starts) != len(self.block_shape):
            raise ValueError(f"expected {len(self.block_shape)} offsets, but got {len(starts)}")
        extents = tuple([converted(each, int64) for each in self.shape])
        return BlockPointer(self.base, extents, self.strides, starts, self.block_shape)

    def _check_value(self, value: tensor) -> None:
        if value.shape != self.block_shape:
            raise ValueError(
                f"a value of shape {list(self.block_shape)} is stored, not {list(value.shape)}"
            )

    def addresses(self, indices: list[tensor]) -> tuple[tensor, tensor]:
        """The addresses of elements by their indices, tiles of one rank, and which of these are in
        the array."""
        pointer, inside = self.base, None
        for index, extent, stride in zip(indices, self.shape, self.strides, strict=True):
            wide = converted(index, int64)
            pointer = add(pointer, mul(wide, stride))
            within = logical(
                "and", compared("ge", wide, 0), compared("lt", wide, converted(extent, int64))
            )
            inside = within if inside is None else logical("and", inside, within)
        assert inside is not None
        return broadcast_pair(pointer, inside)

    def _elements(self, offsets: Any) -> tuple[tensor, tensor]:
        """The addresses of a block, and which are in the array."""
        starts = integers(offsets, int32)
        shape = self.block_shape
        return self.addresses([add(along(shape, axis), start) for axis, start in enumerate(starts)])

    def _rows(self, rows: tensor, column: Any) -> tuple[tensor, tensor]:
        """The addresses of rows of an array of two axes."""
        if len(self.block_shape) != 2 or self.block_shape[0] != 1:
            raise ValueError(f"descriptor block must have 1 row, but got {self.block_shape}")
        if len(rows.shape) != 1:
            raise ValueError(f"x offsets must be 1D, but got {rows.shape}")
        (start,) = integers((column,), int32)
        columns = add(along((1, self.block_shape[1]), 1), start)
        return self.addresses([expanded(rows, 1), columns])

    def gather(self, x_offsets: tensor, y_offset: Any) -> tensor:
        """The rows at offsets, from a column on."""
        pointers, inside = self._rows(x_offsets, y_offset)
        op = tile_memory.TileLoad(pointers.handle, (inside.handle,), ())
        return tensor(builder().value(op), pointers.type.with_element_ty(self.dtype))

    def scatter(self, value: tensor, x_offsets: tensor, y_offset: Any) -> None:
        """Write rows at offsets, from a column on."""
        pointers, inside = self._rows(x_offsets, y_offset)
        new = converted(value, self.dtype)
        builder().emit(tile_memory.TileStore(pointers.handle, new.handle, (inside.handle,)))


def _define_atomics() -> None:
    for name in ("add", "min", "max", "and", "or", "xor"):

        def apply(self: tensor_descriptor, offsets: Any, value: tensor, name: str = name) -> None:
            pointers, inside = self._elements(offsets)  # type: ignore[attr-defined]  # this module's
            update(name, pointers, value, inside)

        setattr(tensor_descriptor, f"atomic_{name}", apply)


_define_atomics()


@builtin
def make_tensor_descriptor(
    base: tensor, shape: Any, strides: Any, block_shape: Any, padding_option: Any = "zero"
) -> tensor_descriptor:
    """The descriptor of an array."""
    block = checked_shape(block_shape)
    extents, plain = integers(shape, int64), unwrapped(strides)
    rank = len(extents)
    if not 1 <= rank <= 5:
        raise ValueError(f"Expected 1 <= ndim <= 5 but got {rank} dimensions")
    if len(plain) != rank:
        raise ValueError(f"Expected {rank} strides but got {len(plain)}")
    if len(block) != rank:
        raise ValueError(f"Expected block_shape to have {rank} dimensions but got {len(block)}")
    if not isinstance(base.type, pointer_type):
        raise TypeError(f"a descriptor is of a pointer, not {base.type}")
    size = base.type.element_ty.itemsize
    if block[-1] * size < 16:
        raise ValueError(
            "Descriptor block shape must have at least 16 bytes in the last dimension, but got "
            f"{block[-1]} * {size} = {block[-1] * size} bytes"
        )
    if type(plain[-1]) is not int or plain[-1] != 1:
        raise ValueError(f"Tensor descriptor last dim must be 1 but got {plain[-1]}")
    numbers = tuple([converted(each, int32) for each in extents])
    padding = unwrapped(padding_option) or "zero"
    return tensor_descriptor(base, numbers, integers(plain, int64), block, padding)
