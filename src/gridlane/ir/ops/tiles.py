"""Tiles: arrays of static shape that a program of stage ``tile`` computes with as a whole.

At this stage a block is one thread of control, the *program*: each op runs once, scalars are those
of the program, and conditions hold or not for all of it. Which thread, register or memory keeps an
element is left to the passes that lower the stage (``passes/tiles``).

What happens to single elements is a device function on scalars, without effects on memory:
``tile_map`` calls it for each element, ``tile_reduce`` and ``tile_scan`` combine elements with it.
The rows of a shape are counted in row-major order.
"""

from __future__ import annotations

from enum import Enum

from gridlane.core.dtypes import DType, b1, bf16, f16, f32, f64, i8, i32, u8
from gridlane.ir.op import Op, Scope, family, operation
from gridlane.ir.types import PointerType, TileType, Type, tile
from gridlane.ir.values import Function, Value


def tile_of(op: Op, value: Value) -> TileType:
    """The type of a tile operand; VerifyError when it is none."""
    op.require(isinstance(value.type, TileType), f"{value.type} is not a tile")
    assert isinstance(value.type, TileType)
    return value.type


def with_axis(op: Op, type_: TileType, axis: int) -> int:
    """The extent along an axis of a tile; VerifyError when there is no such axis."""
    op.require(0 <= axis < len(type_.shape), f"{type_} has no axis {axis}")
    return type_.shape[axis]


def without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """A shape without one of its axes.

    >>> without((4, 2, 8), 1)
    (4, 8)
    """
    return shape[:axis] + shape[axis + 1 :]


def is_tile(type_: Type) -> bool:
    """Whether an attribute annotated as a tile type is one: parsed text may hold another."""
    return isinstance(type_, TileType)


def element_type(type_: Type) -> Type:
    """The type of the elements of a tile, or a scalar's own."""
    return type_.element if isinstance(type_, TileType) else type_


_FLOW = frozenset(("if", "loop", "scope", "break", "continue", "leave", "return", "call"))
_INSIDE = _FLOW | {"read", "write", "load"}


def callee_of(op: Op, scope: Scope, name: str) -> Function:
    """The device function that an op calls for elements; VerifyError when there is none."""
    target = scope.module.functions.get(name)
    op.require(target is not None, f"no function @{name}")
    assert target is not None
    op.require(not target.is_kernel, f"@{name} is a kernel")
    for inner in target.body.walk():
        plain = inner.pure and not inner.name.startswith("tile_")
        op.require(plain or inner.name in _INSIDE, f"@{name}, for elements, has a {inner.name}")
    return target


@operation("tile_splat")
class TileSplat(Op):
    """The tile that has a scalar as each of its elements."""

    value: Value
    type: TileType
    pure = True
    produces = ("type",)

    def check(self, scope: Scope) -> None:
        self.require(is_tile(self.type), f"{self.type} is not a tile")
        same = self.value.type == self.type.element
        self.require(same, f"{self.value.type} is not an element of {self.type}")


@operation("tile_iota")
class TileIota(Op):
    """``start``, ``start + 1``, … as a tile of one axis of i32."""

    start: int
    type: TileType
    pure = True
    produces = ("type",)

    def check(self, scope: Scope) -> None:
        right = is_tile(self.type) and len(self.type.shape) == 1 and self.type.element is i32
        self.require(right, f"{self.type} is not a tile of one axis of i32")
        fits = i32.min <= self.start and self.start + self.type.count - 1 <= i32.max
        self.require(fits, "its numbers fit in i32")


@operation("tile_map")
class TileMap(Op):
    """The device function ``callee`` for each element: its arguments are the elements of tiles of
    one shape, and scalars, which are the same for all; its results are those of tiles of that
    shape. The function has no effect on memory."""

    callee: str
    arguments: tuple[Value, ...]
    types: tuple[Type, ...]
    pure = True

    def result_types(self) -> tuple[Type, ...]:
        return self.types

    def check(self, scope: Scope) -> None:
        target = callee_of(self, scope, self.callee)
        shapes = {value.type.shape for value in self.arguments if isinstance(value.type, TileType)}
        self.require(len(shapes) == 1, "the tiles among its arguments have one shape")
        got = tuple([element_type(value.type) for value in self.arguments])
        want = tuple([param.value.type for param in target.params])
        self.require(got == want, f"@{self.callee} takes {want}, not {got}")
        (shape,) = shapes
        results = tuple([tile(shape, r) for r in target.results])  # type: ignore[arg-type]  # checked below
        plain = all(isinstance(result, DType | PointerType) for result in target.results)
        self.require(plain, f"@{self.callee} returns scalars and pointers")
        self.require(self.types == results, f"@{self.callee} makes {results}")


# ---- shapes


@family
class OfTile(Op):
    """An op of the elements of ``source``, a tile."""

    source: Value
    pure = True


@operation("tile_broadcast")
class TileBroadcast(OfTile):
    """A tile repeated along the axes where its extent is 1."""

    type: TileType
    produces = ("type",)

    def check(self, scope: Scope) -> None:
        source = tile_of(self, self.source)
        self.require(is_tile(self.type), f"{self.type} is not a tile")
        self.require(source.element == self.type.element, "the elements differ")
        fits = len(source.shape) == len(self.type.shape) and all(
            old in (1, new) for old, new in zip(source.shape, self.type.shape, strict=True)
        )
        self.require(fits, f"{source} does not broadcast to {self.type}")


@operation("tile_reshape")
class TileReshape(OfTile):
    """The elements in row-major order in another shape."""

    type: TileType
    produces = ("type",)

    def check(self, scope: Scope) -> None:
        source = tile_of(self, self.source)
        self.require(is_tile(self.type), f"{self.type} is not a tile")
        self.require(source.element == self.type.element, "the elements differ")
        self.require(source.count == self.type.count, f"{source} as {self.type}: counts differ")


@operation("tile_transpose")
class TileTranspose(OfTile):
    """Axis ``n`` of the result is axis ``order[n]`` of the source."""

    order: tuple[int, ...]

    def result_types(self) -> tuple[Type, ...]:
        source = tile_of(self, self.source)
        axes = range(len(source.shape))
        self.require(sorted(self.order) == [*axes], f"{self.order} does not order {source}")
        return (tile(tuple([source.shape[axis] for axis in self.order]), source.element),)


@operation("tile_join")
class TileJoin(Op):
    """Two tiles side by side along a new last axis of 2."""

    lhs: Value
    rhs: Value
    pure = True

    def result_types(self) -> tuple[Type, ...]:
        lhs = tile_of(self, self.lhs)
        self.require(lhs == self.rhs.type, f"{lhs} beside {self.rhs.type}")
        return (tile((*lhs.shape, 2), lhs.element),)


@operation("tile_split")
class TileSplit(OfTile):
    """The two tiles along the last axis, whose extent is 2: the inverse of ``tile_join``."""

    def result_types(self) -> tuple[Type, ...]:
        source = tile_of(self, self.source)
        right = len(source.shape) > 1 and source.shape[-1] == 2
        self.require(right, f"{source} has no last axis of 2 behind others")
        half = tile(source.shape[:-1], source.element)
        return half, half


@operation("tile_cat")
class TileCat(Op):
    """Two tiles one behind the other along ``axis``."""

    lhs: Value
    rhs: Value
    axis: int
    pure = True

    def result_types(self) -> tuple[Type, ...]:
        lhs, rhs = tile_of(self, self.lhs), tile_of(self, self.rhs)
        with_axis(self, lhs, self.axis)
        same = lhs.element == rhs.element and len(lhs.shape) == len(rhs.shape)
        axis = self.axis
        same = same and without(lhs.shape, axis) == without(rhs.shape, axis)
        self.require(same, f"{lhs} and {rhs} differ beside axis {axis}")
        extent = lhs.shape[axis] + rhs.shape[axis]
        return (tile((*lhs.shape[:axis], extent, *lhs.shape[axis + 1 :]), lhs.element),)


@operation("tile_gather")
class TileGather(OfTile):
    """For each element of ``index``, i32, the element of ``source`` at that position along
    ``axis``, and at the index's own position along the others. An index beyond the axis is
    undefined."""

    index: Value
    axis: int

    def result_types(self) -> tuple[Type, ...]:
        source, index = tile_of(self, self.source), tile_of(self, self.index)
        with_axis(self, source, self.axis)
        fits = len(source.shape) == len(index.shape) and all(
            mine <= theirs
            for axis, (mine, theirs) in enumerate(zip(index.shape, source.shape, strict=True))
            if axis != self.axis
        )
        self.require(fits, f"{index} is no index of {source} along axis {self.axis}")
        self.require(index.element is i32, f"{index} is not of i32")
        return (tile(index.shape, source.element),)


@operation("tile_item")
class TileItem(OfTile):
    """The only element of a tile, as a scalar."""

    def result_types(self) -> tuple[Type, ...]:
        source = tile_of(self, self.source)
        self.require(source.count == 1, f"{source} has more than one element")
        return (source.element,)


# ---- along an axis


@family
class Combining(Op):
    """An op that combines elements of ``arguments``, tiles of one shape, along ``axis`` by a device
    function."""

    callee: str
    arguments: tuple[Value, ...]
    axis: int
    pure = True

    def check(self, scope: Scope) -> None:
        target = callee_of(self, scope, self.callee)
        elements = tuple([tile_of(self, value).element for value in self.arguments])
        want = tuple([param.value.type for param in target.params])
        self.require(want == elements * 2, f"@{self.callee} takes {want}, not {elements * 2}")
        self.require(target.results == elements, f"@{self.callee} returns {target.results}")


@operation("tile_reduce")
class TileReduce(Combining):
    """The elements along ``axis`` combined into one by the device function ``callee``, which takes
    an element of each tile, then of each once more, and returns one of each. It is associative; the
    left operand is of lower indices. The results have one axis less; those of tiles of one axis are
    scalars."""

    def result_types(self) -> tuple[Type, ...]:
        tiles = tiles_along(self, self.arguments, self.axis)
        shape = without(tiles[0].shape, self.axis)
        return tuple([tile(shape, each.element) if shape else each.element for each in tiles])


@operation("tile_scan")
class TileScan(Combining):
    """For each position along ``axis`` the elements up to it combined, itself included, as
    ``tile_reduce`` does. ``reverse``: the elements from it on, the last one first."""

    reverse: bool = False

    def result_types(self) -> tuple[Type, ...]:
        return tuple(tiles_along(self, self.arguments, self.axis))


def tiles_along(op: Op, arguments: tuple[Value, ...], axis: int) -> list[TileType]:
    """The types of tiles of one shape that has an axis."""
    tiles = [tile_of(op, value) for value in arguments]
    op.require(bool(tiles), "some tiles")
    op.require(len({each.shape for each in tiles}) == 1, "the tiles have one shape")
    with_axis(op, tiles[0], axis)
    return tiles


@operation("tile_sort")
class TileSort(OfTile):
    """The elements of each line along ``axis`` in order, NaNs behind all others; the order is
    reversed if ``descending``. ``count``: only the first of them, or all where it is 0."""

    axis: int
    descending: bool = False
    count: int = 0

    def result_types(self) -> tuple[Type, ...]:
        source = tile_of(self, self.source)
        extent = with_axis(self, source, self.axis)
        self.require(isinstance(source.element, DType), f"{source} has no order")
        self.require(0 <= self.count <= extent, f"{self.count} of {extent} elements")
        shape = source.shape
        kept = self.count or extent
        return (tile((*shape[: self.axis], kept, *shape[self.axis + 1 :]), source.element),)


@operation("tile_histogram")
class TileHistogram(OfTile):
    """How many elements have each value from 0 to ``bins`` - 1, as i32. Others are not counted.
    ``mask``: at most one tile of b1, of the elements that count."""

    mask: tuple[Value, ...]
    bins: int

    def result_types(self) -> tuple[Type, ...]:
        self.require(self.bins > 0, "one bin or more")
        return (tile((self.bins,), i32),)

    def check(self, scope: Scope) -> None:
        source = tile_of(self, self.source)
        whole = isinstance(source.element, DType) and source.element.is_integer
        self.require(whole and len(source.shape) == 1, f"{source} is not one axis of integers")
        check_optional(self, self.mask, tile(source.shape, b1), "mask")


def check_optional(op: Op, values: tuple[Value, ...], type_: Type, what: str) -> None:
    """Check an operand that may be missing."""
    op.require(len(values) <= 1, f"at most one {what}")
    for value in values:
        op.require(value.type == type_, f"the {what} is a {type_}, not {value.type}")


# ---- products


class Precision(Enum):
    """How exactly products of f32 are computed. IEEE: each factor with all its bits. The others may
    round factors to tf32 or bf16, with as many products of the parts as the name says; a target
    may compute more exactly."""

    IEEE = "ieee"
    TF32 = "tf32"
    TF32X3 = "tf32x3"
    BF16X3 = "bf16x3"
    BF16X6 = "bf16x6"


PRODUCTS: dict[DType, tuple[DType, ...]] = {
    i8: (i32,),
    u8: (i32,),
    f16: (f32, f16),
    bf16: (f32,),
    f32: (f32,),
    f64: (f64,),
}
"""Elements of accumulators, by the element of the factors."""


@operation("tile_dot")
class TileDot(Op):
    """``acc`` plus the product of matrices ``lhs`` and ``rhs``, of tiles with two axes, or of three
    where the first counts matrices. The order of the sums is open; floats are summed with the
    accumulator's precision at least. ``fused``: products of floats may be fused with additions.
    ``loose``: the factors are floats of 8 bits before, and sums may have the precision with which
    instructions for these add."""

    lhs: Value
    rhs: Value
    acc: Value
    precision: Precision = Precision.IEEE
    fused: bool = True
    loose: bool = False
    pure = True
    produces = ("acc",)

    def check(self, scope: Scope) -> None:
        lhs, rhs = tile_of(self, self.lhs), tile_of(self, self.rhs)
        acc = tile_of(self, self.acc)
        self.require(len(lhs.shape) in (2, 3), f"{lhs} is no matrix")
        fits = (
            len(lhs.shape) == len(rhs.shape) == len(acc.shape)
            and lhs.shape[:-2] == rhs.shape[:-2] == acc.shape[:-2]
            and lhs.shape[-1] == rhs.shape[-2]
            and acc.shape[-2:] == (lhs.shape[-2], rhs.shape[-1])
        )
        self.require(fits, f"{lhs} by {rhs} is no {acc}")
        known = lhs.element == rhs.element and acc.element in PRODUCTS.get(lhs.element, ())  # type: ignore[arg-type]  # a pointer is in no table
        self.require(known, f"no products of {lhs.element} and {rhs.element} in {acc.element}")
