"""Whether anything in a module may change the arrays that an expression reads later.

Arguments count as different arrays. A kernel that relies on it checks at its start that they do not
overlap.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from gridlane.core.source import Loc
from gridlane.frontends.python.apart import are_arguments, raise_where_overlapping
from gridlane.frontends.python.operands import (
    ArrayExpression,
    Operand,
    OptionalOperand,
    Vector,
    arrays_in,
)
from gridlane.frontends.python.parts import taken_apart
from gridlane.frontends.python.roots import Roots, Sources
from gridlane.frontends.python.times_of_reads import Times
from gridlane.frontends.python.translator import Translator
from gridlane.frontends.python.unit import MemoryNeeded, Unit
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import control, memory
from gridlane.ir.types import PointerType
from gridlane.ir.values import Module, Region

_QUIET = (
    memory.Load, memory.ReadVar, memory.WriteVar, memory.LocalArray, control.If, control.Loop,
    control.ScopeOp, control.Break, control.Continue, control.Leave, control.Return, control.Raise,
)  # fmt: skip
"""Ops that change no memory, besides the pure ones."""


def is_quiet(op: Op) -> bool:
    """Whether an op, with what is in it, changes no memory."""
    return (op.pure or isinstance(op, _QUIET)) and all(
        is_quiet(inner) for region in op.regions() for inner in region.ops
    )


def settle(t: Translator, expression: ArrayExpression) -> None:
    """Note that an expression is read here for the last time. Nothing has changed its operands
    where no op behind it writes memory."""
    new_expression = t.unit.expressions.get(expression)
    if new_expression is None or new_expression.kept or new_expression.region is not t.b.region:
        return
    new_expression.settled = all(
        is_quiet(op) for op in new_expression.region.ops[new_expression.ops :]
    )


def keep(t: Translator, operand: Operand) -> None:
    """Note that a variable has an operand: expressions in it may be read at any later time."""
    if not t.unit.expressions:
        return
    if isinstance(operand, ArrayExpression):
        expression = t.unit.expressions.get(operand)
        if expression is not None:
            expression.kept, expression.settled = True, False
        return
    if isinstance(operand, OptionalOperand):
        keep(t, operand.inner)
    apart = None if isinstance(operand, Vector) else taken_apart(operand)
    for each in apart[1] if apart else ():
        keep(t, each)


Relied = dict[tuple[object, object], tuple[ArrayExpression, Loc]]
"""Pairs of arguments, the first of which an expression reads after a line may write the second."""


def require_unchanged(unit: Unit) -> None:
    """Prove of all expressions that are read later that their operands stay as they are.

    Raises:
        MemoryNeeded: what one reads may change, so it needs memory.
    """
    module = unit.module
    waiting = [
        (expression, made.function)
        for expression, made in unit.expressions.items()
        if not made.settled and module.functions.get(made.function.name) is made.function
    ]
    if not waiting:
        return
    roots = Sources(module, unit.arguments)
    writes = [*_writes(module, roots)]
    relied: Relied = {}
    times = Times(unit, roots)
    for expression, _ in waiting:
        read = {root for array in arrays_in(expression) for root in roots.of(array.pointer)}
        for write, written in writes:
            for root, other in product(read, written):
                if root.may_be(other):
                    raise _error(expression, write.loc)
                pair = root.source, other.source
                if pair in relied or not are_arguments(unit, root, other):
                    continue
                if times.may_read_after(root, write, unit.expressions[expression]):
                    relied[pair] = expression, write.loc
    _check_arguments(unit, relied)


def _check_arguments(unit: Unit, relied: Relied) -> None:
    """Raise at the kernel's start where one of the pairs overlaps."""
    if not relied:
        return
    kernel = unit.module.kernel
    b, begin = Builder(unit.module, kernel), Region()
    with b.inside(begin):
        for pair, (expression, where) in relied.items():
            one, other = (unit.arguments[each] for each in pair)  # type: ignore[index]  # pointers
            assert one is not None and other is not None
            message = (
                f"the result of np.{expression.function.__name__} is read after line {where.line} "
                "may change what it is made of, as two arguments overlap in memory; pass a copy "
                "of one of them"
            )
            b.loc = expression.place
            raise_where_overlapping(b, one, other, unit.error_code("ValueError", message, b.loc))
    kernel.body.ops[:0] = begin.ops


def _error(expression: ArrayExpression, where: Loc) -> MemoryNeeded:
    message = (
        f"the result of np.{expression.function.__name__} is read later, and line {where.line} may "
        "change what it is made of before"
    )
    return MemoryNeeded(message, expression.place, expression.place)


def _writes(module: Module, roots: Sources) -> Iterable[tuple[Op, Roots]]:
    """The ops that change memory, and where it may be."""
    for function in module.functions.values():
        for op in function.body.walk():
            if op.pure or isinstance(op, (*_QUIET, control.Call)):
                continue
            written = [each for each in op.operands() if isinstance(each.type, PointerType)]
            if isinstance(op, memory.Store):
                written = [op.pointer]
            for each in written:
                yield op, roots.of(each)
