"""Tiles in memory: accesses through tiles of pointers and through blocks of arrays, atomics; what a
program prints.

The order of accesses is that of the program: an access sees what earlier ones of the same program
have stored.
"""

from __future__ import annotations

from enum import Enum

from gridlane.core.dtypes import DType, b1, i32, i64
from gridlane.ir.op import Op, Scope, operation
from gridlane.ir.ops.atomic import AtomicKind, check_element, check_kind
from gridlane.ir.ops.grid import MemoryOrder, MemoryScope
from gridlane.ir.ops.memory import LOAD_POLICIES, STORE_POLICIES
from gridlane.ir.ops.tiles import check_optional, is_tile, tile_of
from gridlane.ir.types import PointerType, TileType, Type, tile
from gridlane.ir.values import Value


def target_of(op: Op, pointers: Value) -> TileType:
    """The type of the tile that is behind a tile of pointers."""
    type_ = tile_of(op, pointers)
    op.require(isinstance(type_.element, PointerType), f"{type_} is not of pointers")
    assert isinstance(type_.element, PointerType)
    element = type_.element.element
    op.require(isinstance(element, DType | PointerType), f"no tile of {element}")
    return tile(type_.shape, element)  # type: ignore[arg-type]  # as checked


@operation("tile_load")
class TileLoad(Op):
    """The elements at the addresses of a tile of pointers. ``mask``: at most one tile of b1; where
    it does not hold memory is not read, and the element is that of ``other``, or 0 without one."""

    pointers: Value
    mask: tuple[Value, ...]
    other: tuple[Value, ...]
    volatile: bool = False
    cache: str = ""

    def result_types(self) -> tuple[Type, ...]:
        return (target_of(self, self.pointers),)

    def check(self, scope: Scope) -> None:
        type_ = target_of(self, self.pointers)
        check_optional(self, self.mask, tile(type_.shape, b1), "mask")
        check_optional(self, self.other, type_, "other")
        self.require(bool(self.mask) or not self.other, "another value is for a mask")
        self.require(self.cache in ("", *LOAD_POLICIES), f"no load has the policy {self.cache!r}")


@operation("tile_store")
class TileStore(Op):
    """Write the elements of ``value`` to the addresses of a tile of pointers, where ``mask`` holds.
    Where several elements have one address any of them wins."""

    pointers: Value
    value: Value
    mask: tuple[Value, ...] = ()
    cache: str = ""

    def check(self, scope: Scope) -> None:
        type_ = target_of(self, self.pointers)
        self.require(self.value.type == type_, f"{self.value.type} stored as {type_}")
        check_optional(self, self.mask, tile(type_.shape, b1), "mask")
        self.require(self.cache in ("", *STORE_POLICIES), f"no store has the policy {self.cache!r}")


class Padding(Enum):
    """What is read beyond an array."""

    ZEROS = "zeros"
    NANS = "nans"


def check_block(
    op: TileLoadBlock | TileStoreBlock, shape: tuple[int, ...], element: DType | PointerType
) -> None:
    """Check the operands that place a tile in an array."""
    base = op.base.type
    right = isinstance(base, PointerType) and base.element == element
    op.require(right, f"{base} is not a pointer to {element}")
    rank = len(shape)
    for name, values in (("extent", op.extents), ("stride", op.strides)):
        op.require(len(values) == rank, f"one {name} for each axis")
        op.require(all(value.type is i64 for value in values), f"a {name} is an i64")
    op.require(len(op.starts) == rank, "one start for each axis")
    op.require(all(value.type is i32 for value in op.starts), "a start is an i32")
    known = all(0 <= axis < rank for axis in op.checked)
    op.require(known and len({*op.checked}) == len(op.checked), f"{op.checked} are no axes")


@operation("tile_load_block")
class TileLoadBlock(Op):
    """The block of an array in memory that begins at ``starts``: element (i, j) is that at ``base``
    plus ``(starts[0] + i) * strides[0] + (starts[1] + j) * strides[1]`` elements. Along the axes
    ``checked`` elements before 0 and from ``extents`` on are not read, and are ``padding``."""

    base: Value
    extents: tuple[Value, ...]
    strides: tuple[Value, ...]
    starts: tuple[Value, ...]
    type: TileType
    checked: tuple[int, ...] = ()
    padding: Padding = Padding.ZEROS
    cache: str = ""
    produces = ("type",)

    def check(self, scope: Scope) -> None:
        self.require(is_tile(self.type), f"{self.type} is not a tile")
        check_block(self, self.type.shape, self.type.element)
        self.require(self.cache in ("", *LOAD_POLICIES), f"no load has the policy {self.cache!r}")
        if self.padding is Padding.NANS:
            is_float = isinstance(self.type.element, DType) and self.type.element.is_float
            self.require(is_float, f"{self.type.element} has no NaN")


@operation("tile_store_block")
class TileStoreBlock(Op):
    """Write a tile to a block of an array, as ``tile_load_block`` reads one. Elements beyond the
    array along the axes ``checked`` are not written."""

    base: Value
    extents: tuple[Value, ...]
    strides: tuple[Value, ...]
    starts: tuple[Value, ...]
    value: Value
    checked: tuple[int, ...] = ()
    cache: str = ""

    def check(self, scope: Scope) -> None:
        type_ = tile_of(self, self.value)
        check_block(self, type_.shape, type_.element)
        self.require(self.cache in ("", *STORE_POLICIES), f"no store has the policy {self.cache!r}")


@operation("tile_atomic")
class TileAtomic(Op):
    """Read-modify-write of the scalar at each address, where ``mask`` holds; the result has the old
    values, and 0 where it does not. Elements with one address take turns, in any order."""

    kind: AtomicKind
    pointers: Value
    value: Value
    mask: tuple[Value, ...] = ()
    order: MemoryOrder = MemoryOrder.RELAXED
    scope: MemoryScope = MemoryScope.DEVICE
    produces = ("value",)

    def check(self, scope: Scope) -> None:
        type_ = target_of(self, self.pointers)
        self.require(self.value.type == type_, f"{self.value.type} against {type_}")
        check_optional(self, self.mask, tile(type_.shape, b1), "mask")
        check_element(self, type_.element)
        assert isinstance(type_.element, DType)
        check_kind(self, self.kind, type_.element)


@operation("tile_atomic_cas")
class TileAtomicCas(Op):
    """Store ``desired`` at each address whose memory holds ``expected``, compared bitwise; the
    result has the old values."""

    pointers: Value
    expected: Value
    desired: Value
    order: MemoryOrder = MemoryOrder.RELAXED
    scope: MemoryScope = MemoryScope.DEVICE
    produces = ("desired",)

    def check(self, scope: Scope) -> None:
        type_ = target_of(self, self.pointers)
        right = self.expected.type == self.desired.type == type_
        self.require(right, f"{self.expected.type} and {self.desired.type} against {type_}")
        check_element(self, type_.element)


@operation("tile_print")
class TilePrint(Op):
    """Print the elements of a tile, a line for each: the program's indices in the grid, those of
    the element, as wide as the largest of their axis, ``prefix`` and the element.
    ``hexadecimal``: its bits in hexadecimal."""

    prefix: str
    value: Value
    hexadecimal: bool = False

    def check(self, scope: Scope) -> None:
        tile_of(self, self.value)


@operation("tile_stop_if")
class TileStopIf(Op):
    """End the launch with error ``code`` if the condition holds for some element."""

    condition: Value
    code: int

    def check(self, scope: Scope) -> None:
        type_ = tile_of(self, self.condition)
        self.require(type_.element is b1, f"{type_} is not of b1")
        self.require(0 <= self.code < len(scope.module.errors), f"no error {self.code}")
