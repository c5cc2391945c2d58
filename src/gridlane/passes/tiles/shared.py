"""Allots shared memory: arrays of one element type whose lives do not meet are one."""

from __future__ import annotations

from dataclasses import dataclass, field

from gridlane.core.dtypes import i32, u8
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, memory
from gridlane.ir.types import Space, Type, pointer
from gridlane.ir.values import Global, Module, Region, Value, Var
from gridlane.passes.tiles.machine import TileMachine
from gridlane.passes.tiles.order import Order
from gridlane.passes.tiles.placement import Placement

Life = tuple[int, int]
"""The numbers of the first and the last op that need an array."""


@dataclass(slots=True)
class SharedMemory:
    """The arrays of a program in shared memory."""

    module: Module
    lives: dict[str, list[Life]] = field(default_factory=dict[str, list[Life]])

    def allot(self, element: Type, count: int, life: Life, align: int = 16) -> str:
        """The symbol of an array that nothing else uses during a life."""
        free = [symbol for symbol in self.lives if self._is_free(symbol, element, life)]
        if not free:
            symbol = f"tile.{len(self.module.globals)}"
            while symbol in self.module.globals:
                symbol += "_"
            self.module.globals[symbol] = Global(symbol, element, count, Space.SHARED, align)
            self.lives[symbol] = [life]
            return symbol
        sizes = {symbol: self.module.globals[symbol].count for symbol in free}
        large = [symbol for symbol in free if sizes[symbol] >= count]
        symbol = min(large, key=sizes.__getitem__) if large else max(free, key=sizes.__getitem__)
        array = self.module.globals[symbol]
        array.count, array.align = max(count, sizes[symbol]), max(align, array.align)
        self.lives[symbol].append(life)
        return symbol

    def _is_free(self, symbol: str, element: Type, life: Life) -> bool:
        if self.module.globals[symbol].element != element:
            return False
        return all(last < life[0] or life[1] < first for first, last in self.lives[symbol])


def place_dynamically(machine: TileMachine, module: Module) -> None:
    """Make dynamic shared memory of the arrays in shared memory, if they are more than a kernel may
    have of a known size."""
    arrays, places, size = module.static_shared(), dict[str, int](), 0
    for item in arrays:
        size = -(-size // item.align) * item.align
        places[item.name] = size
        size += -(-item.size // 16) * 16
    if not machine.static or size <= machine.static:
        return
    for item in arrays:
        del module.globals[item.name]
    module.own_dynamic = size
    for function in module.functions.values():
        _in_dynamic(function.body, places, {}, max(item.align for item in arrays))


def _in_dynamic(
    region: Region, places: dict[str, int], values: dict[Value, Value], align: int
) -> None:
    ops: list[Op] = []
    for op in region.ops:
        op.replace_operands(lambda value: values.get(value, value))
        for inner in op.regions():
            _in_dynamic(inner, places, values, align)
        if not isinstance(op, memory.GlobalAddress) or op.symbol not in places:
            ops.append(op)
            continue
        start = memory.DynamicShared(pointer(u8, Space.SHARED), align, loc=op.loc)
        number = arith.Const(places[op.symbol], i32, loc=op.loc)
        moved = memory.Offset(start.results[0], number.results[0], loc=op.loc)
        typed = memory.Recast(moved.results[0], op.type, loc=op.loc)
        ops += [start, number, moved, typed]
        values[op.results[0]] = typed.results[0]
    region.ops = ops


def life_of(placement: Placement, value: Value) -> Life:
    """The life of a stored tile: to its last use or, of a use in a loop behind the tile, to the end
    of the loop."""
    order, op = placement.order, value.op
    assert op is not None
    around = order.loops(op)
    last = order.number[op]
    for use in placement.uses[value]:
        last = max(last, order.number[use.root])
        inner = [loop for loop in order.loops(use.root) if loop not in around]
        last = max([last, *[order.last[loop] for loop in inner]])
    return order.number[op], last


def life_of_variable(order: Order, var: Var, uses: list[Op]) -> Life:
    """The life of a variable: from its first access to the last one and all roots that read it,
    with the loops around them, as iterations may carry it."""
    accesses = [
        op for op in order.ops if isinstance(op, memory.ReadVar | memory.WriteVar) and op.var is var
    ]
    first, last = len(order.ops), 0
    for op in (*accesses, *uses):
        loops = order.loops(op)
        first = min(first, order.number[loops[0] if loops else op])
        last = max(last, order.last[loops[0]] if loops else order.number[op])
    return first, last
