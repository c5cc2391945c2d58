"""Products by fragments, whose elements have no known places (``ir.ops.matrix``): subgroups of
shaders multiply them. Factors are in shared memory. A loop holds sums in fragments where it does
nothing else with them; elsewhere they pass through shared memory to the registers of a layout."""

from __future__ import annotations

from gridlane.core.dtypes import DType, i32, i64, u32
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, grid, matrix, memory, tiles
from gridlane.ir.ops.matrix import EDGE
from gridlane.ir.types import FragmentType, Role, Space, VectorType, pointer, vector
from gridlane.ir.values import Value, Var
from gridlane.passes.tiles.core_products import in_shared, staged, type_of_storage, warp_place
from gridlane.passes.tiles.elements import element, type_of
from gridlane.passes.tiles.indices import BitIndex, Coordinates, log2, source
from gridlane.passes.tiles.layouts import Warps
from gridlane.passes.tiles.state import State, Storage
from gridlane.passes.tiles.sums import in_place, rounded, sum_type

_UNROLLED = 8
"""Products along the inner extent that are written out; more are a loop."""

_OWN = 8
"""The elements of a fragment that a lane has in the layout (``layouts.fragment_layout``)."""

_WIDE = 4
"""Sums that are stored and loaded at once."""


def dot_by_fragments(state: State, op: tiles.TileDot, storage: Storage, warps: Warps) -> None:
    """Compute a product; all warps run it together."""
    factors = _Factor(state, op.lhs, Role.A), _Factor(state, op.rhs, Role.B)
    held = state.fragments.get(op.acc.op.var) if isinstance(op.acc.op, memory.ReadVar) else None
    with state.together():
        for factor in factors:
            factor.touch()
        if held is not None:
            _multiply(state, op, factors, warps, held)
            return
        patch = _Patch(state, sum_type(op), len(storage.registers))
        assert storage.layout is not None
        places = [*state.places(storage.layout, storage.type.shape)]
        sums = patch.filled(op.acc) or patch.entered(
            [state.b.cast(element(state, op.acc, at), patch.type) for at in places]
        )
        _multiply(state, op, factors, warps, sums)
        patch.leave(sums, storage)


# ---- sums that loops hold


def enter(state: State, loop: control.Loop) -> None:
    """In front of a loop: hold the sums in fragments that it adds products to and does nothing else
    with; behind it they are in registers again."""
    for var, op in _held(state, loop):
        storage = state.variables[var]
        with state.together():
            patch = _Patch(state, sum_type(op), len(storage.registers))
            start = _start(state, loop, var)
            sums = patch.filled(start) if start is not None else None
            if sums is None:
                sums = patch.entered([state.b.read(each) for each in storage.registers])
        state.fragments[var] = sums
        state.behind.setdefault(loop, []).append(lambda v=var, s=storage: _leave(state, v, s))


def _leave(state: State, var: Var, storage: Storage) -> None:
    element_type = storage.type.element
    assert isinstance(element_type, DType)
    with state.together():
        patch = _Patch(state, element_type, len(storage.registers))
        patch.leave(state.fragments.pop(var), storage)


def _held(state: State, loop: control.Loop) -> list[tuple[Var, tiles.TileDot]]:
    """The variables, each with one of the products."""
    order = state.placement.order
    inside = {op for op in order.ops if loop in order.loops(op)}
    found: dict[Var, tiles.TileDot] = {}
    for op in order.ops:
        if op not in inside or not isinstance(op, tiles.TileDot) or not _adds(state, op):
            continue
        assert isinstance(op.acc.op, memory.ReadVar)
        var = op.acc.op.var
        if var not in state.fragments and all(
            _is_own(state, each, inside) for each in order.ops if _accesses(each, var)
        ):
            found.setdefault(var, op)
    return [*found.items()]


def _accesses(op: Op, var: Var) -> bool:
    return isinstance(op, memory.ReadVar | memory.WriteVar) and op.var is var


def _adds(state: State, op: Op) -> bool:
    """Whether an op adds a product to a variable, by fragments."""
    if not isinstance(op, tiles.TileDot) or not isinstance(op.acc.op, memory.ReadVar):
        return False
    schedule = state.placement.products.get(op)
    if schedule is None or schedule.matrices is None or op.results[0] not in state.placement.stored:
        return False
    if type_of(op.acc).element is not sum_type(op):
        return False
    storage = in_place(state, op)
    return storage is not None and storage.layout is not None


def _is_own(state: State, op: Op, inside: set[Op]) -> bool:
    """Whether an access of a variable is that of a product of a loop, or has nothing to do with the
    loop."""
    if isinstance(op, memory.WriteVar):
        return op not in inside or _adds(state, op.value.op)  # type: ignore[arg-type]  # a dot's
    roots = [use.root for use in state.placement.uses[op.results[0]]]
    if op in inside:
        return all(_adds(state, root) and root in inside for root in roots)
    return not any(root in inside for root in roots)


def _start(state: State, loop: control.Loop, var: Var) -> Value | None:
    """What a variable is when a loop begins; None where it may be several values."""
    order = state.placement.order
    before = [
        op
        for op in order.ops
        if isinstance(op, memory.WriteVar)
        and op.var is var
        and order.number[op] < order.number[loop]
    ]
    if not before or order.path[before[-1]][-1][1] is not order.path[loop][-1][1]:
        return None
    return before[-1].value


# ---- from registers to fragments and back


def patch_bytes(threads: int) -> int:
    """Bytes of shared memory of a patch of sums of 32 bits."""
    return threads * _OWN * u32.size


class _Patch:
    """Shared memory for one fragment of sums of each warp."""

    def __init__(self, state: State, type_: DType, registers: int) -> None:
        self.state, self.type, self.count = state, type_, registers // _OWN
        self.symbol = state.shared(type_, state.threads * _OWN)
        self.fragment = FragmentType(Role.ACC, EDGE, EDGE, type_)
        self.kind = vector(type_, _WIDE)
        assert isinstance(self.kind, VectorType)

    def filled(self, value: Value) -> list[Var] | None:
        """Fragments of a tile of one number; None of another tile."""
        op, b = value.op, self.state.b
        while isinstance(op, tiles.TileBroadcast | tiles.TileReshape):
            op = op.source.op
        if not isinstance(op, tiles.TileSplat) or not isinstance(op.value.op, arith.Const):
            return None
        number = b.cast(b.const(op.value.op.value, op.value.op.type), self.type)
        whole = b.value(matrix.FragmentFill(number, self.fragment))
        return [self._sum(whole) for _ in range(self.count)]

    def entered(self, values: list[Value]) -> list[Var]:
        """Fragments of the elements that threads have in registers."""
        b, result = self.state.b, list[Var]()
        for first in range(0, len(values), _OWN):
            for half in range(0, _OWN, _WIDE):
                part = values[first + half : first + half + _WIDE]
                b.store(self._own(half), b.value(memory.Pack(tuple(part), self.kind)))
            self._sync()
            load = matrix.FragmentLoad(self._whole(), b.const(EDGE, i64), self.fragment)
            result.append(self._sum(b.value(load)))
            self._sync()
        return result

    def leave(self, sums: list[Var], storage: Storage) -> None:
        """Write fragments to registers."""
        b, state = self.state.b, self.state
        for number, total in enumerate(sums):
            store = matrix.FragmentStore(self._whole(), b.const(EDGE, i64), b.read(total))
            b.emit(store)
            self._sync()
            for half in range(0, _OWN, _WIDE):
                whole = b.load(self._own(half))
                for n in range(_WIDE):
                    register = storage.registers[number * _OWN + half + n]
                    value = b.value(memory.Part(whole, n))
                    b.write(register, rounded(state, storage, value))
            self._sync()

    def _sum(self, value: Value) -> Var:
        total = self.state.b.variable("sums", self.fragment)
        self.state.b.write(total, value)
        return total

    def _own(self, first: int) -> Value:
        """The address of this thread's elements from one on."""
        b, state = self.state.b, self.state
        state.touch(self.symbol, True)
        start = b.recast(state.pointer_to(self.symbol), pointer(self.kind, Space.SHARED))
        place = b.mul(state.thread, b.const(_OWN // _WIDE, i32))
        address = b.offset(start, place)
        return b.offset(address, b.const(first // _WIDE, i32)) if first else address

    def _whole(self) -> Value:
        """The address of this warp's fragment."""
        b, state = self.state.b, self.state
        state.touch(self.symbol, True)
        start = b.recast(state.pointer_to(self.symbol), pointer(self.kind, Space.SHARED))
        warp = b.value(arith.Shr(state.thread, b.const(5, i32)))
        place = b.mul(warp, b.const(EDGE * EDGE // _WIDE, i32))
        return b.recast(b.offset(start, place), pointer(self.type, Space.SHARED))

    def _sync(self) -> None:
        self.state.b.emit(grid.SyncWarp(self.state.b.const(0xFFFFFFFF, u32)))


# ---- products


class _Factor:
    """A factor in shared memory.

    Attributes:
        turned: it is the transpose of the stored tile.
    """

    def __init__(self, state: State, value: Value, role: Role) -> None:
        stored, turned = in_shared(state, value) or (staged(state, value), False)
        self.state, self.storage, self.role, self.turned = state, stored, role, turned

    def touch(self) -> None:
        """Note the reads of it."""
        if self.storage.start is None:
            self.state.touch(self.storage.symbol)

    def load(self, line: BitIndex, inner: BitIndex) -> Value:
        """The fragment from a row of A or a column of B on, and an inner place."""
        b, storage = self.state.b, self.storage
        element_type = type_of_storage(storage)
        at: Coordinates = (line, inner) if self.role is Role.A else (inner, line)
        if self.turned:
            at = at[::-1]
        address = self.state.chunk_address(storage, at)
        start = b.recast(address, pointer(element_type, Space.SHARED))
        type_ = FragmentType(self.role, EDGE, EDGE, element_type)
        by_columns = self.turned != storage.turned
        load = matrix.FragmentLoad(start, b.const(storage.stride, i64), type_, by_columns)
        return b.value(load)


def _multiply(
    state: State,
    op: tiles.TileDot,
    factors: tuple[_Factor, _Factor],
    warps: Warps,
    sums: list[Var],
) -> None:
    """Add the products to the sums."""
    b, left, right = state.b, type_of(op.lhs), type_of(op.rhs)
    steps = left.shape[-1] // EDGE
    rows, columns = left.shape[-2] // warps.down, right.shape[-1] // warps.across
    down, across, _ = warp_place(state, warps)
    written = min(steps, _UNROLLED)
    with state.counted(steps // written, "k") as counter:
        outer = source(counter, steps // written)
        for number in range(written):
            inner = outer.joined(BitIndex(number), log2(written) or 0).joined(BitIndex(), 4)
            lines = [down.joined(BitIndex(n), log2(rows) or 0) for n in range(0, rows, EDGE)]
            a = [factors[0].load(line, inner) for line in lines]
            for n in range(0, columns, EDGE):
                line = across.joined(BitIndex(n), log2(columns) or 0)
                c = factors[1].load(line, inner)
                for row, each in enumerate(a):
                    total = sums[row * (columns // EDGE) + n // EDGE]
                    made = b.value(matrix.FragmentMma(each, c, b.read(total)))
                    b.write(total, made)
