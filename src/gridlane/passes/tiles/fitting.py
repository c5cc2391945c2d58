"""Fits a program into the shared memory of a block: where its tiles need more than there is,
factors of products that are loaded, or converted of what is, are computed at each use instead of
being stored, the largest first.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, fields

from gridlane.core import decisions
from gridlane.core.errors import TargetError
from gridlane.ir.op import Op, clone_region
from gridlane.ir.ops import tile_memory, tiles
from gridlane.ir.types import PointerType, TileType
from gridlane.ir.values import Module, Param, Region, Value, Var
from gridlane.passes.tiles.delays import delay_products
from gridlane.passes.tiles.inference import has_instruction, placed
from gridlane.passes.tiles.lower import NoRoom, lower
from gridlane.passes.tiles.machine import TileMachine
from gridlane.passes.tiles.order import Order
from gridlane.passes.tiles.placement import FAR, LOADS, Placement


def lower_fitting(machine: TileMachine, module: Module) -> None:
    """Lower a kernel whose calls are inlined; see ``lower.lower``.

    Raises:
        TargetError: its tiles do not fit. The numbers are those with all factors stored.
    """
    if machine.lockstep or not _may_be_large(machine, module):
        lower(machine, module, delay_products(module, machine))
        return
    kept = _Kept.of(module)
    try:
        _attempt(machine, module, frozenset())
        return
    except NoRoom as error:
        first = error
    numbers = frozenset[int]()
    while True:
        kept.restore(module)
        delay_products(module, machine)
        ops = _sources(module)
        largest = _largest(placed(module, machine, frozenset([ops[n] for n in numbers])), ops)
        if largest is None:
            raise first
        numbers |= {largest}
        kept.restore(module)
        try:
            _attempt(machine, module, numbers)
            return
        except TargetError:  # of other memory too: a tile of pointers, which shaders cannot store
            continue


def _attempt(machine: TileMachine, module: Module, numbers: frozenset[int]) -> None:
    """Lower without storing what ops of these numbers load or convert; the decisions are those of a
    success."""
    turns = delay_products(module, machine)
    ops = _sources(module)
    spared = frozenset([ops[number] for number in numbers])
    with decisions.collecting() as found:
        lower(machine, module, turns, spared)
    for each in found:
        decisions.decided(each.loc, each.what, each.how)
    for op in spared:
        how = "loaded and computed at each use: shared memory does not hold it"
        decisions.decided(op.loc, "tile", how)


def _sources(module: Module) -> list[Op]:
    """The loads and elementwise functions of a kernel, in order."""
    return [op for op in Order(module.kernel).ops if isinstance(op, (*LOADS, tiles.TileMap))]


def _may_be_large(machine: TileMachine, module: Module) -> bool:
    """Whether the tiles that a program loads and multiplies are more than a block's memory."""
    stored: dict[Value, int] = {}
    for op in module.kernel.body.walk():
        if isinstance(op, tiles.TileDot):
            stored |= {op.lhs: _size(op.lhs), op.rhs: _size(op.rhs)}
        elif isinstance(op, LOADS):
            stored[op.results[0]] = _size(op.results[0])
    return sum(stored.values()) > machine.shared


def _size(value: Value) -> int:
    type_ = value.type
    if not isinstance(type_, TileType) or isinstance(type_.element, PointerType):
        return 0
    return type_.count * type_.element.size


def _largest(placement: Placement, ops: list[Op]) -> int | None:
    """The number of the op with the largest stored result that need not be stored: a factor alone,
    of products that are multiplied element by element."""
    numbers = [number for number, op in enumerate(ops) if _is_sparable(placement, op)]
    return max(numbers, key=lambda number: _size(ops[number].results[0]), default=None)


def _is_sparable(placement: Placement, op: Op) -> bool:
    result = op.results[0]
    if op in placement.spared or placement.stored.get(result) is not False:
        return False
    if isinstance(op, tile_memory.TileLoad) and op.volatile:
        return False
    if isinstance(op, tiles.TileMap) and not _is_conversion(placement, op):
        return False
    return all(
        isinstance(use.root, tiles.TileDot)
        and not has_instruction(placement.machine, use.root)
        and use.root.acc is not result
        for use in placement.uses[result]
    )


def _is_conversion(placement: Placement, op: tiles.TileMap) -> bool:
    """Whether a function is a short one of what one load has read."""
    each: Op | None = op
    while isinstance(each, tiles.TileMap | tiles.TileTranspose):
        sources = [value for value in each.operands() if isinstance(value.type, TileType)]
        if len(sources) != 1 or placement.cost(sources[0]) > FAR:
            return False
        each = sources[0].op
    return isinstance(each, LOADS)


@dataclass(slots=True)
class _Kept:
    """A module as it was, with the ops of its kernel.

    Attributes:
        rest: the module's other fields by name.
    """

    body: Region
    variables: list[Var]
    params: list[Param]
    rest: dict[str, object]

    @staticmethod
    def of(module: Module) -> _Kept:
        """That of a module now."""
        kernel = module.kernel
        rest = {each.name: copy(getattr(module, each.name)) for each in fields(module)}
        body = clone_region(kernel.body, {})
        return _Kept(body, [*kernel.variables], [*kernel.params], rest)

    def restore(self, module: Module) -> None:
        """Make the module what it was."""
        for name, value in self.rest.items():
            setattr(module, name, copy(value))
        kernel = module.kernel
        kernel.body = clone_region(self.body, {})
        kernel.variables, kernel.params = [*self.variables], [*self.params]
