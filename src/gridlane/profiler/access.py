"""Which parameters of a kernel point to memory that it reads or writes."""

from __future__ import annotations

from collections import defaultdict

from gridlane.core.frozen import frozen
from gridlane.ir.op import Op
from gridlane.ir.ops.atomic import Atomic, AtomicCas, AtomicCasPair
from gridlane.ir.ops.control import Call, Return
from gridlane.ir.ops.matrix import FragmentStore
from gridlane.ir.ops.memory import Load, Store
from gridlane.ir.ops.mma_memory import MmaStore
from gridlane.ir.ops.tile_memory import TileAtomic, TileAtomicCas, TileStore, TileStoreBlock
from gridlane.ir.types import PointerType, Space, TileType
from gridlane.ir.values import Function, Module, Value, Var

_Roots = frozenset[int]
"""The pointer parameters, by their numbers, that a value may be derived from."""
_NONE: _Roots = frozenset()


@frozen
class Accesses:
    """The parameters of a kernel, by their numbers among its flat ones.

    Attributes:
        read, written: those whose memory is read, and written; an atomic does both.
        others: whether memory is accessed that no parameter points to.
    """

    read: frozenset[int]
    written: frozenset[int]
    others: bool


def accesses(module: Module) -> Accesses:
    """The parameters through which a module's kernel reads and writes memory. What is derived from
    a parameter by any op but a load points to its memory."""
    return _Tracer(module).traced()


class _Tracer:
    """Follows pointers through values, variables and calls until nothing changes."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.of: defaultdict[Value | Var, _Roots] = defaultdict(frozenset)
        self.results: defaultdict[str, list[_Roots]] = defaultdict(list)
        self.changed = True

    def traced(self) -> Accesses:
        kernel = self.module.kernel
        for number, param in enumerate(kernel.params):
            if isinstance(param.value.type, PointerType):
                self.of[param.value] = frozenset([number])
        functions = list(self.module.functions.values())
        while self.changed:
            self.changed = False
            for function in functions:
                for op in function.body.walk():
                    self._follow(function, op)
        return self._found(functions)

    def _follow(self, function: Function, op: Op) -> None:
        if isinstance(op, Load):  # what is in memory is not followed
            return
        if isinstance(op, Call):
            self._call(op)
            return
        if isinstance(op, Return):
            own = self.results[function.name]
            own.extend([_NONE] * (len(op.values) - len(own)))
            for n, value in enumerate(op.values):
                if not self.of[value] <= own[n]:
                    own[n], self.changed = own[n] | self.of[value], True
            return
        roots = _NONE.union(*[self.of[value] for value in op.operands()])
        variables = [getattr(op, name) for name in op.VARIABLE_FIELDS]
        if op.results:  # it reads the variables
            roots = roots.union(*[self.of[each] for each in variables])
        for target in (*op.results, *(() if op.results else variables)):
            self._add(target, roots)

    def _call(self, op: Call) -> None:
        callee = self.module.functions[op.callee]
        for param, argument in zip(callee.params, op.arguments):
            self._add(param.value, self.of[argument])
        for result, roots in zip(op.results, self.results[op.callee]):
            self._add(result, roots)

    def _add(self, target: Value | Var, roots: _Roots) -> None:
        if not roots <= self.of[target]:
            self.of[target] |= roots
            self.changed = True

    def _found(self, functions: list[Function]) -> Accesses:
        read: set[int] = set()
        written: set[int] = set()
        others = False
        for function in functions:
            for op in function.body.walk():
                for value, reads, writes in _touched(op):
                    roots = self.of[value]
                    others = others or not roots
                    read |= roots if reads else _NONE
                    written |= roots if writes else _NONE
        return Accesses(frozenset(read), frozenset(written), others)


def _touched(op: Op) -> list[tuple[Value, bool, bool]]:
    """The global pointers that an op uses, and whether it reads or writes there."""
    if op.pure or isinstance(op, Call | Return):
        return []
    pointers = [value for value in op.operands() if _is_global(value)]
    if isinstance(op, TileStore | TileStoreBlock):
        return [(value, False, True) for value in pointers if value is not op.value]
    if isinstance(op, TileAtomic | TileAtomicCas):
        return [(value, True, True) for value in pointers]
    if isinstance(op, Store):
        return [(value, False, True) for value in pointers if value is op.pointer]
    if isinstance(op, FragmentStore | MmaStore):
        return [(value, False, True) for value in pointers]
    if isinstance(op, Atomic | AtomicCas | AtomicCasPair):
        return [(value, True, True) for value in pointers]
    return [(value, True, False) for value in pointers]


def _is_global(value: Value) -> bool:
    """Whether a value is a pointer to device memory, or a tile of such."""
    type_ = value.type.element if isinstance(value.type, TileType) else value.type
    return isinstance(type_, PointerType) and type_.space in (Space.GENERIC, Space.GLOBAL)
