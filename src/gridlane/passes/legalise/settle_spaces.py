"""Infers the address space of each generic pointer of a kernel: shaders have no generic pointers.

A pointer has the space of the pointer that it derives from. An address from a number or from memory
is in global memory, so other memory needs no numeric addresses.
"""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import u64
from gridlane.core.errors import TargetError
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, memory
from gridlane.ir.types import PointerType, Space, pointer
from gridlane.ir.values import Function, Module, Region, Value, Var

Item = Value | Var

_FROM_OUTSIDE = (memory.FromAddress, memory.Load, memory.Part)
CHOICES = (arith.Select, memory.WriteVar, arith.Compare)
"""Ops that take several pointers, of which one may be null."""


def settle_spaces(module: Module) -> None:
    """Replace the generic space in the types of a kernel whose calls are inlined.

    Raises:
        TargetError: a pointer may point to two spaces, or the kernel takes an address as a number
            outside global memory.
    """
    kernel = module.kernel
    spaces = _Spaces(kernel)
    _settle(kernel.body, spaces)
    for var in kernel.variables:
        if _is_generic(var):
            var.type = spaces.settled(var)
    _refuse_numbers(kernel)


class _Spaces:
    """The space of each generic pointer of a kernel."""

    def __init__(self, kernel: Function) -> None:
        self.known: dict[Item, Space] = {}
        ops = [op for op in kernel.body.walk() if _makes_generic(op)]
        while any([self._visit(op) for op in ops]):
            pass

    def settled(self, item: Item) -> PointerType:
        """The type of a pointer, with its inferred space."""
        assert isinstance(item.type, PointerType)
        space = item.type.space or self.known.get(item, Space.GLOBAL)
        return pointer(item.type.element, space)

    def _visit(self, op: Op) -> bool:
        """Record the space that an op implies; whether it is new."""
        target = op.var if isinstance(op, memory.WriteVar) else op.results[0]
        spaces = [space for item in sources(op) if (space := self._certain(item)) is not None]
        if isinstance(op, _FROM_OUTSIDE):
            spaces.append(Space.GLOBAL)
        if target in self.known:
            spaces.append(self.known[target])
        if not spaces:
            return False
        if len(set(spaces)) > 1:
            names = " and in ".join(sorted(space.name.lower() for space in set(spaces)))
            raise TargetError(
                f"a pointer may be in {names} memory, and the target has no pointers to "
                "both: write one branch for each",
                op.loc,
            )
        is_new = target not in self.known
        self.known[target] = spaces[0]
        return is_new

    def _certain(self, item: Item) -> Space | None:
        assert isinstance(item.type, PointerType)
        return item.type.space or self.known.get(item)


def _is_generic(item: Item) -> bool:
    return isinstance(item.type, PointerType) and item.type.space is Space.GENERIC


def _makes_generic(op: Op) -> bool:
    """Whether an op defines a generic pointer whose space it implies."""
    if isinstance(op, arith.Const):
        return False  # a null pointer has no space
    defined = [op.var] if isinstance(op, memory.WriteVar) else op.results
    return any(_is_generic(item) for item in defined)


def sources(op: Op) -> list[Item]:
    """The pointers that an op's pointer derives from."""
    if isinstance(op, memory.Load):
        return []
    if isinstance(op, memory.ReadVar):
        return [op.var]
    return [value for value in op.operands() if isinstance(value.type, PointerType)]


# ---- rewriting


def _settle(region: Region, spaces: _Spaces) -> None:
    """Replace the types of a region's ops and results, and the nulls among their operands."""
    ops: list[Op] = []
    for op in region.ops:
        if isinstance(op, CHOICES):
            ops += nulls(op, spaces.settled)
        ops += _retyped(op, spaces)
        for inner in op.regions():
            _settle(inner, spaces)
    region.ops = ops


def _retyped(op: Op, spaces: _Spaces) -> list[Op]:
    """The op with inferred types; a generic pointer in memory is loaded as a number."""
    generic = [value for value in op.results if _is_generic(value)]
    for value in generic:
        value.type = spaces.settled(value)
    if not generic:
        return [op]
    if isinstance(op, memory.Load):
        return _loaded_as_number(op)
    own = getattr(op, "type", None)
    if isinstance(own, PointerType):
        op.type = op.results[0].type  # type: ignore[attr-defined]  # it has one
    return [op]


def _loaded_as_number(op: memory.Load) -> list[Op]:
    space = memory.space_of(op.pointer)
    address = memory.Recast(op.pointer, pointer(u64, space), loc=op.loc)
    number = memory.Load(address.result, op.volatile, loc=op.loc)
    settled = op.result.type
    assert isinstance(settled, PointerType)
    from_address = memory.FromAddress(number.result, settled, loc=op.loc)
    op.result.op = from_address
    from_address.results = op.results
    return [address, number, from_address]


def nulls(op: Op, settled_type: Callable[[Item], PointerType]) -> list[Op]:
    """A null pointer of the other operands' settled type, for each null among an op's operands."""
    pointers = [op.var] if isinstance(op, memory.WriteVar) else [*op.results, *op.operands()]
    settled = [
        settled_type(item)
        for item in pointers
        if isinstance(item.type, PointerType) and not is_null(item)
    ]
    new_ops: list[Op] = []

    def change(value: Value) -> Value:
        if not settled or not is_null(value) or value.type == settled[0]:
            return value
        new_ops.append(arith.Const(0, settled[0], loc=op.loc))
        return new_ops[-1].results[0]

    op.replace_operands(change)
    return new_ops


def is_null(item: Item) -> bool:
    is_const = isinstance(item, Value) and isinstance(item.op, arith.Const)
    return is_const and isinstance(item.type, PointerType)


def _refuse_numbers(kernel: Function) -> None:
    """Check that only addresses of global memory are taken as numbers."""
    for op in kernel.body.walk():
        if isinstance(op, memory.Address):
            space = memory.space_of(op.pointer)
        elif isinstance(op, memory.FromAddress):
            space = op.type.space
        else:
            continue
        if space is not Space.GLOBAL:
            raise TargetError(
                f"{space.name.lower()} memory has no addresses that are numbers on the target, as "
                "global memory has",
                op.loc,
            )
