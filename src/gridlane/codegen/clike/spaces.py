"""Which memory each generic pointer goes to: C-like languages have no generic pointers."""

from __future__ import annotations

from gridlane.core.errors import TargetError
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, memory
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import Function, Value, Var

Item = Value | Var


class Spaces:
    """The space of each pointer of a kernel: its own, or for a generic one that of what it was
    made from. An address that comes from a number or from memory is one of global memory."""

    def __init__(self, kernel: Function) -> None:
        self.known: dict[Item, Space] = {}
        ops = [op for op in kernel.body.walk() if _makes_generic(op)]
        while any([self._visit(op) for op in ops]):
            pass

    def of(self, item: Item) -> Space:
        """The space of a pointer value or variable."""
        assert isinstance(item.type, PointerType)
        return item.type.space or self.known.get(item, Space.GLOBAL)

    def _visit(self, op: Op) -> bool:
        """Learn what an op says; whether that is new."""
        target = op.var if isinstance(op, memory.WriteVar) else op.results[0]
        found = [space for item in _sources(op) if (space := self._certain(item)) is not None]
        if isinstance(op, memory.FromAddress | memory.Load | memory.Part):
            found.append(Space.GLOBAL)
        if target in self.known:
            found.append(self.known[target])
        if not found:
            return False
        if len(set(found)) > 1:
            names = " and in ".join(sorted(space.name.lower() for space in set(found)))
            raise TargetError(
                f"a pointer may be in {names} memory, and shaders have no pointers to both: "
                "write one branch for each",
                op.loc,
            )
        is_new = target not in self.known
        self.known[target] = found[0]
        return is_new

    def _certain(self, item: Item) -> Space | None:
        assert isinstance(item.type, PointerType)
        return item.type.space or self.known.get(item)


def _makes_generic(op: Op) -> bool:
    """Whether an op makes a generic pointer of something that says where it points to."""
    if isinstance(op, arith.Const):
        return False  # a null pointer goes nowhere
    made = [op.var] if isinstance(op, memory.WriteVar) else op.results
    return any(isinstance(x.type, PointerType) and not x.type.space for x in made)


def _sources(op: Op) -> list[Item]:
    """The pointers that an op's pointer comes from."""
    if isinstance(op, memory.Load):
        return []
    if isinstance(op, memory.ReadVar):
        return [op.var]
    return [value for value in op.operands() if isinstance(value.type, PointerType)]
