"""Pointwise programs over tiles as kernels of one element a thread, for analyses alone.

The coordinates of an element along the axes of its tile are the thread's indices. So the accesses
of the program, and what its products are added to, are those of a kernel of scalars.
"""

from __future__ import annotations

from dataclasses import replace

from gridlane.core.dtypes import b1
from gridlane.ir.op import FastMath, Op, clone_op, clone_region
from gridlane.ir.ops import arith, control, grid, memory, tile_memory, tiles
from gridlane.ir.ops.grid import Axis
from gridlane.ir.types import TileType
from gridlane.ir.values import Function, Module, Region, Value
from gridlane.passes.structure.fusion.contraction import Ambiguous, settle

_AXES = (Axis.X, Axis.Y, Axis.Z)
Axes = tuple[int, ...]


class NotPointwise(Exception):
    """A program whose elements are not computed one by one, in a row of ops.

    Attributes:
        what: the reason, for the user.
        op: the op.
    """

    def __init__(self, what: str, op: Op) -> None:
        super().__init__(what)
        self.what, self.op = what, op


class Shadow:
    """A program as a kernel of scalars.

    Attributes:
        function: the kernel. It is not valid IR: values of guarded loads are used behind them.
        extents: those of the tiles along each axis.

    Raises:
        NotPointwise: the program has loops, branches, sums, or tiles of other extents.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        kernel = module.kernel
        self.function = Function(kernel.name, kernel.params, body=Region(), loc=kernel.loc)
        self.extents = [1, 1, 1]
        self._ops = self.function.body.ops
        self._scalars: dict[Value, Value] = {param.value: param.value for param in kernel.params}
        self._known: dict[tuple[Value, Axes], Value] = {}
        self.products: dict[tuple[tiles.TileMap, Op], list[arith.Mul]] = {}
        """The products of the shadow, by their map and the op in its function."""
        for op in kernel.body.ops:
            self._op(op)

    def _op(self, op: Op) -> None:
        if isinstance(op, control.Return):
            return
        if op.REGION_FIELDS or isinstance(op, memory.ReadVar | memory.WriteVar):
            raise NotPointwise("it is a program over tiles with loops or branches", op)
        if isinstance(op, tile_memory.TileStore):
            self._store(op)
        elif isinstance(op, grid.Barrier):
            self._ops.append(op)
        elif any(isinstance(value.type, TileType) for value in (*op.results, *op.operands())):
            if not isinstance(op, _SHAPES):
                raise NotPointwise(f"it is a program over tiles with {op.name}", op)
        else:
            copy = clone_op(op, self._scalars, {})
            self._ops.append(copy)

    def _store(self, op: tile_memory.TileStore) -> None:
        axes = _identity(op.pointers)
        pointer, value = self._element(op.pointers, axes), self._element(op.value, axes)
        self._guard(op.mask, axes, memory.Store(pointer, value, loc=op.loc))

    def _guard(self, mask: tuple[Value, ...], axes: Axes, access: Op) -> None:
        if not mask:
            self._ops.append(access)
            return
        condition = self._element(mask[0], axes)
        assert condition.type is b1
        self._ops.append(control.If(condition, Region([access]), Region(), loc=access.loc))

    def _element(self, value: Value, axes: Axes) -> Value:
        """The element of a tile at coordinates of the thread; a scalar as it is."""
        if not isinstance(value.type, TileType):
            return self._scalars[value]
        key = value, axes
        if key not in self._known:
            self._note(value.type, axes, value.op)
            self._known[key] = self._made(value, axes)
        return self._known[key]

    def _note(self, type_: TileType, axes: Axes, op: Op | None) -> None:
        """Note the extents of a tile along the thread's axes."""
        assert op is not None
        for extent, axis in zip(type_.shape, axes, strict=True):
            if extent == 1:
                continue
            if axis >= len(_AXES) or self.extents[axis] not in (1, extent):
                raise NotPointwise("it is a program over tiles of several shapes", op)
            self.extents[axis] = extent

    def _made(self, value: Value, axes: Axes) -> Value:
        op = value.op
        if isinstance(op, tiles.TileIota):
            return self._iota(op, axes[0])
        if isinstance(op, tiles.TileSplat):
            return self._scalars[op.value]
        if isinstance(op, tiles.TileMap):
            return self._mapped(op, axes)[op.results.index(value)]
        if isinstance(op, tiles.TileBroadcast):
            return self._element(op.source, axes)
        if isinstance(op, tiles.TileReshape):
            return self._element(op.source, _reshaped(op, axes))
        if isinstance(op, tiles.TileTranspose):
            place = {own: axes[number] for number, own in enumerate(op.order)}
            return self._element(op.source, tuple([place[n] for n in range(len(axes))]))
        if isinstance(op, tile_memory.TileLoad):
            return self._loaded(op, axes)
        assert op is not None
        raise NotPointwise(f"it is a program over tiles with {op.name}", op)

    def _iota(self, op: tiles.TileIota, axis: int) -> Value:
        index = grid.ThreadIdx(_AXES[axis], loc=op.loc)
        start = arith.Const(op.start, index.results[0].type, loc=op.loc)
        total = arith.Add(index.results[0], start.results[0], loc=op.loc)
        self._ops += [index, start, total]
        return total.results[0]

    def _loaded(self, op: tile_memory.TileLoad, axes: Axes) -> Value:
        if op.volatile:
            raise NotPointwise("it has a volatile load", op)
        load = memory.Load(self._element(op.pointers, axes), loc=op.loc)
        self._guard(op.mask, axes, load)
        if not op.other:
            return load.results[0]
        condition = self._element(op.mask[0], axes)
        other = self._element(op.other[0], axes)
        chosen = arith.Select(condition, load.results[0], other, loc=op.loc)
        self._ops.append(chosen)
        return chosen.results[0]

    def _mapped(self, op: tiles.TileMap, axes: Axes) -> tuple[Value, ...]:
        function = self.module.functions[op.callee]
        values = {
            param.value: self._element(argument, axes)
            for param, argument in zip(function.params, op.arguments, strict=True)
        }
        for inner in function.body.ops:
            if isinstance(inner, control.Return):
                return tuple([values[result] for result in inner.values])
            if inner.REGION_FIELDS or not inner.pure:
                raise NotPointwise("it has branches for each element", op)
            copy = clone_op(inner, values, {})
            self._ops.append(copy)
            if isinstance(copy, arith.Mul):
                self.products.setdefault((op, inner), []).append(copy)
        raise NotPointwise("it has a function without a result", op)


_SHAPES = (
    tile_memory.TileLoad, tiles.TileIota, tiles.TileSplat, tiles.TileMap, tiles.TileBroadcast,
    tiles.TileReshape, tiles.TileTranspose,
)  # fmt: skip


def settle_maps(module: Module) -> None:
    """Remove the permission to contract of products that are in no pair; see ``contraction``.

    Raises:
        Ambiguous: there is a pair: masked loads and loops over elements part ops in ways that
            depend on other programs.
        NotPointwise: as ``Shadow``.
    """
    shadow = Shadow(module)
    settle(shadow.function)
    lost: dict[tiles.TileMap, list[Op]] = {}
    for (op, inner), clones in shadow.products.items():
        before: FastMath = getattr(inner, "fast", FastMath.NONE)
        kept = {bool(clone.fast & FastMath.CONTRACT) for clone in clones}
        if len(kept) > 1:
            raise Ambiguous(op.loc)
        if before & FastMath.CONTRACT and kept == {False}:
            lost.setdefault(op, []).append(inner)
    for op, products in lost.items():
        op.callee = _without(module, module.functions[op.callee], products)


def _without(module: Module, function: Function, products: list[Op]) -> str:
    """The name of a function some of whose products do not contract."""
    places = [place for place, op in enumerate(function.body.ops) if op in products]
    name = ".".join([function.name, "apart", *map(str, places)])
    if name not in module.functions:
        values = {p.value: Value(p.value.type, None, p.value.name) for p in function.params}
        copy = replace(function, name=name, body=clone_region(function.body, values))
        copy.params = [replace(param, value=values[param.value]) for param in function.params]
        for place in places:
            op = copy.body.ops[place]
            assert isinstance(op, arith.Mul)
            op.fast &= ~FastMath.CONTRACT
        module.functions[name] = copy
    return name


def _identity(value: Value) -> Axes:
    assert isinstance(value.type, TileType)
    return tuple(range(len(value.type.shape)))


def _reshaped(op: tiles.TileReshape, axes: Axes) -> Axes:
    """The axes of a reshaped tile's source: extents of 1 are added or removed."""
    source = op.source.type
    assert isinstance(source, TileType)
    kept = [(extent, axis) for extent, axis in zip(op.type.shape, axes, strict=True) if extent > 1]
    if [extent for extent in source.shape if extent > 1] != [extent for extent, _ in kept]:
        raise NotPointwise("it is a program over tiles of several shapes", op)
    rest = iter([axis for _, axis in kept])
    return tuple([next(rest) if extent > 1 else 0 for extent in source.shape])
