"""Registers of ``mma`` in memory, where functions read and write them: LLVM would copy the vectors
of each call otherwise.

An array holds the results of one op, on the stack, or in scratch of each chunk if other segments
use them as well. Its memory is used again behind the last use. Results that other ops than those of
matrices use are loaded as well, where they are made or in each segment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gridlane.analysis.op_positions import Places
from gridlane.codegen.llvm.cpu.lanes import Copied, Emission, InMemory, Placed
from gridlane.codegen.llvm.cpu.shapes import VARYING
from gridlane.codegen.llvm.text import scalar_name
from gridlane.core.frozen import frozen
from gridlane.ir.op import Op
from gridlane.ir.ops.mma_memory import MmaLoad, MmaStore
from gridlane.ir.ops.products import Mma
from gridlane.ir.ops.warpgroups import WarpgroupMma
from gridlane.ir.values import Region, Value

MAKERS = (Mma, MmaLoad, WarpgroupMma)
"""Ops whose results are registers of a matrix."""
_USERS = (Mma, MmaStore, WarpgroupMma)
_LANES = 32


@frozen
class _Use:
    """How long memory is in use: up to the op of a region with a number. ``itself``: that op uses
    it, not one inside of it. Without a region, for ever."""

    region: Region | None
    last: int = 0
    itself: bool = True


@dataclass(slots=True, eq=False)
class _Array:
    """Memory of some bytes: an address on the stack, or an offset and the stride of chunks."""

    size: int
    place: str | tuple[int, int]
    use: _Use


class Registers:
    """The memory of a kernel's registers.

    Attributes:
        numbers: of each op among those of its region.
        users: of each value.
        crossing: the memory of the results of ops that other segments use.
    """

    def __init__(self, places: Places) -> None:
        self.places = places
        self.stack: list[_Array] = []
        self.crossing: dict[Op, tuple[int, int]] = {}
        self.users: dict[Value, list[Op]] = {}
        regions = dict.fromkeys(path[-1][1] for path in places.path.values())
        self.numbers = {op: n for region in regions for n, op in enumerate(region.ops)}
        for op in places.order:
            for value in op.operands():
                self.users.setdefault(value, []).append(op)

    # ---- across segments

    def cross(self, state: Emission, ops: Iterable[Op]) -> None:
        """Allocate memory in each chunk's scratch for the results of ops that other segments
        use."""
        own_ops, arrays = set(ops), list[_Array]()
        for op in self.places.order:
            if op not in own_ops:
                continue
            size, use = _size(op.results), self._use(op, op.results)
            array = next((a for a in arrays if a.size == size and self._is_free(a, op)), None)
            if array is None:
                array = _Array(size, state.take(size), use)
                arrays.append(array)
            array.use = use
            assert isinstance(array.place, tuple)
            offset, distance = self.crossing[op] = array.place
            for value in op.results:
                state.crossing[value] = Placed(offset, distance, VARYING)
                offset += _size([value])

    def enter(self, state: Emission, op: Op) -> list[Value]:
        """Set the representations of results in a segment that did not make them, if ops of
        matrices alone use them; these values."""
        if op not in self.crossing:
            return []
        values = [value for value in op.results if self._stays(value)]
        if values:
            pointer = state.chunk_address(*self.crossing[op])
            for number, value in enumerate(op.results):
                if value in values:
                    state.set(value, InMemory(pointer, number))
        return values

    # ---- where they are made and used

    def given(self, state: Emission, op: Op, *operands: Sequence[Value]) -> list[str]:
        """The addresses of memory with the registers of each operand."""
        known = [_together(state, values) for values in operands]
        places = [_place(state, value) for value in op.operands()]
        taken = {place.pointer for place in places if place}
        results: list[str] = []
        for address, values in zip(known, operands, strict=True):
            if not address:
                use = _Use(self.places.path[op][-1][1], self.numbers[op])
                address = self._on_stack(state, op, values, taken, use)
                taken.add(address)
                for number, value in enumerate(values):
                    where = _address(state, address, number, value)
                    state.body.do(f"store {vector_of(value)} {_loaded(state, value)}, ptr {where}")
            results.append(address)
        return results

    def made(self, state: Emission, op: Op) -> str:
        """The address of memory for the results of an op, which may be that of its operands. Its
        emitter calls ``keep`` behind the instruction."""
        if op in self.crossing:
            return state.chunk_address(*self.crossing[op])
        return self._on_stack(state, op, op.results, set(), self._use(op, op.results, _USERS))

    def keep(self, state: Emission, op: Op, pointer: str) -> None:
        """Set the representations of results that are in memory."""
        for number, value in enumerate(op.results):
            place = InMemory(pointer, number)
            if self._stays(value):
                state.set(value, place)
                continue
            where = _address(state, pointer, number, value)
            loaded = state.body.op(f"load {vector_of(value)}, ptr {where}")
            state.set(value, Copied(loaded, place))

    def _stays(self, value: Value) -> bool:
        """Whether a result is used in memory alone."""
        return all(isinstance(user, _USERS) for user in self.users.get(value, ()))

    def _use(self, op: Op, values: Sequence[Value], by: tuple[type[Op], ...] = (Op,)) -> _Use:
        """How long some ops use the memory of an op's results."""
        path, last, itself = self.places.path[op], self.numbers[op], True
        depth = len(path)
        users = [user for value in values for user in self.users.get(value, ())]
        for user in (each for each in users if isinstance(each, by)):
            around = self.places.path[user]
            if around[:depth] != path:
                return _Use(None)
            outer = around[depth][0] if len(around) > depth else user
            assert outer is not None
            number = self.numbers[outer]
            if number > last:
                last, itself = number, outer is user
            elif number == last:
                itself = itself and outer is user
        return _Use(path[-1][1], last, itself)

    def _on_stack(
        self, state: Emission, op: Op, values: Sequence[Value], taken: set[str], use: _Use
    ) -> str:
        """The address of stack memory for values, in use from an op on."""
        size = _size(values)
        for array in self.stack:
            if array.size == size and array.place not in taken and self._is_free(array, op):
                array.use = use
                assert isinstance(array.place, str)
                return array.place
        pointer = state.body.alloca(f"[{size} x i8]", align=64)
        self.stack.append(_Array(size, pointer, use))
        return pointer

    def _is_free(self, array: _Array, op: Op) -> bool:
        """Whether nothing behind the start of an op uses an array. What it holds is not seen
        outside of the region, which is over where the op is not in it."""
        path, use = self.places.path[op], array.use
        if use.region is None:
            return False
        for depth, (_, region) in enumerate(path, 1):
            if region is use.region:
                outer = path[depth][0] if len(path) > depth else op
                assert outer is not None
                number = self.numbers[outer]
                return use.last < number or (use.last == number and use.itself and outer is op)
        return True


def _size(values: Sequence[Value]) -> int:
    """Bytes of values in all lanes."""
    return sum(_LANES * value.type.size for value in values)


def registers_of(state: Emission) -> Registers:
    """The memory of a kernel's registers."""
    if not isinstance(state.registers, Registers):
        state.registers = Registers(state.shapes.places)
    return state.registers


def _place(state: Emission, value: Value) -> InMemory | None:
    """Where a register is in memory, if it is."""
    rep = state.rep(value)
    return rep.memory if isinstance(rep, Copied) else rep if isinstance(rep, InMemory) else None


def _together(state: Emission, values: Sequence[Value]) -> str:
    """The address of memory that has all of the values in order; "" if none has."""
    places = [_place(state, value) for value in values]
    first = places[0]
    if first is None:
        return ""
    wanted = [InMemory(first.pointer, first.number + n) for n in range(len(places))]
    return _address(state, first.pointer, first.number, values[0]) if places == wanted else ""


def _address(state: Emission, pointer: str, number: int, value: Value) -> str:
    if not number:
        return pointer
    return state.body.op(f"getelementptr {vector_of(value)}, ptr {pointer}, i64 {number}")


def _loaded(state: Emission, value: Value) -> str:
    """A register as a vector."""
    rep = state.rep(value)
    if not isinstance(rep, InMemory):
        return state.vector(value)
    where = _address(state, rep.pointer, rep.number, value)
    return state.body.op(f"load {vector_of(value)}, ptr {where}")


def vector_of(value: Value) -> str:
    """LLVM's type of a register in all lanes."""
    return f"<32 x {scalar_name(value.type)}>"
