"""Simplifies joined bodies: one copy of indices, one branch around bodies with the same guard, and
values in place of loads of what the same thread has stored.

No thread reads what another one of another body writes, so memory between bodies is a thread's own.
Products and sums of floats keep their number of uses, which decides what contracts; see
``contraction``.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from gridlane.core.dtypes import DType, f32, f64
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, atomic, control, grid, memory
from gridlane.ir.rewriting import replace_values
from gridlane.ir.values import Function, Module, Region, Value, Var
from gridlane.passes.optimise.promote import promote_variables
from gridlane.passes.structure.fusion.joining import is_plain
from gridlane.passes.structure.fusion.places import Places

MOST_ROUNDS = 8
"""Each round merges the branches of one more depth of nesting."""


def simplify(module: Module, forwards_f64: bool) -> None:
    """Simplify a joined kernel.

    Args:
        forwards_f64: whether a float64 in a register is what memory would give back.
    """
    kernel = module.kernel
    for _ in range(MOST_ROUNDS):
        replaced: dict[Value, Value] = {}
        _share(kernel.body, {}, replaced)
        replace_values(kernel.body, replaced)
        if not _merge(kernel.body):
            break
    _Forward(kernel, forwards_f64).run()
    promote_variables(module)


# ---- one copy of indices


def _share(region: Region, known: dict[Hashable, Value], replaced: dict[Value, Value]) -> None:
    """Drop plain ops that an op in front of them, or around them, equals."""
    known, kept = dict(known), list[Op]()
    for op in region.ops:
        op.replace_operands(lambda value: _final(value, replaced))
        if is_plain(op) and len(op.results) == 1:
            direct = _direct(op)
            if direct is not op:
                replaced[op.results[0]] = direct.results[0]
                op = direct
            key = _key(op)
            if key in known:
                replaced[op.results[0]] = known[key]
                continue
            known[key] = op.results[0]
        kept.append(op)
        for inner in op.regions():
            _share(inner, known, replaced)
    region.ops = kept


_OPPOSITE: dict[type[Op], type[arith.Compare]] = {
    arith.Lt: arith.Ge,
    arith.Ge: arith.Lt,
    arith.Gt: arith.Le,
    arith.Le: arith.Gt,
    arith.Eq: arith.Ne,
    arith.Ne: arith.Eq,
}


def _direct(op: Op) -> Op:
    """A comparison in place of the complement of the opposite one."""
    inner = op.value.op if isinstance(op, arith.Not) else None
    kind = None if inner is None else _OPPOSITE.get(type(inner))
    if kind is None or not isinstance(inner, arith.Compare) or not is_plain(inner):
        return op
    return kind(inner.lhs, inner.rhs, loc=op.loc)  # type: ignore[call-arg]  # each has a location


def _final(value: Value, replaced: dict[Value, Value]) -> Value:
    while value in replaced:
        value = replaced[value]
    return value


def _key(op: Op) -> Hashable:
    fields: list[Hashable] = []
    for name in op.PLAIN_FIELDS:
        value: Any = getattr(op, name)
        fields += [type(value), value]  # 1 equals True
    return type(op), tuple(fields), tuple(op.operands())


# ---- one branch around bodies with the same guard


def _merge(region: Region) -> bool:
    """Merge branches of one condition in a region, and in those nested in it."""
    merged, ops = False, list[Op]()
    for op in region.ops:
        if isinstance(op, control.If):
            place = _place_of_branch(ops, op)
            if place is not None:
                earlier = ops[place]
                assert isinstance(earlier, control.If)
                earlier.then.ops += op.then.ops
                earlier.orelse.ops += op.orelse.ops
                ops.append(ops.pop(place))  # behind what stands between the two
                merged = True
                continue
        ops.append(op)
    region.ops = ops
    for op in region.ops:
        for inner in op.regions():
            merged |= _merge(inner)
    return merged


def _place_of_branch(ops: list[Op], branch: control.If) -> int | None:
    """The last branch of the same condition, if it can stand behind all ops that follow it."""
    for place in range(len(ops) - 1, -1, -1):
        op = ops[place]
        if isinstance(op, control.If) and op.condition is branch.condition:
            between = ops[place + 1 :]
            is_free = not _leaves(op) and _variables(op).isdisjoint(_variables_of(between))
            return place if is_free else None
        if not (op.pure or isinstance(op, memory.ReadVar | memory.WriteVar)) or op.REGION_FIELDS:
            return None
    return None


def _leaves(branch: control.If) -> bool:
    """Whether a branch may go elsewhere than to its end."""
    return any(op.terminator or op.barrier for op in branch.then.walk()) or any(
        op.terminator or op.barrier for op in branch.orelse.walk()
    )


def _variables(op: Op) -> set[Var]:
    return _variables_of([inner for region in op.regions() for inner in region.walk()])


def _variables_of(ops: list[Op]) -> set[Var]:
    return {op.var for op in ops if isinstance(op, memory.ReadVar | memory.WriteVar)}


# ---- values in place of loads


class _Forward:
    """Follows what memory holds, by the pointers of accesses."""

    def __init__(self, kernel: Function, forwards_f64: bool) -> None:
        self.kernel = kernel
        self.types = (f32, f64) if forwards_f64 else (f32,)
        self.places = Places(kernel)
        self.replaced: dict[Value, Value] = {}

    def run(self) -> None:
        self._region(self.kernel.body, {})
        _drop_overwritten(self.kernel.body, self)

    def _region(self, region: Region, known: dict[Value, Value]) -> None:
        kept: list[Op] = []
        for op in region.ops:
            op.replace_operands(lambda value: self.replaced.get(value, value))
            if isinstance(op, memory.Load) and not op.volatile:
                value = known.get(op.pointer)
                if value is not None and value.type is op.results[0].type:
                    self.replaced[op.results[0]] = value
                    continue
                if self._is_kept(op.results[0]):
                    known[op.pointer] = op.results[0]
            kept.append(op)
            self._effects(op, known)
            if isinstance(op, control.Loop):
                for inner in op.regions():
                    for each in inner.walk():
                        self._effects(each, known, inside=True)
            for inner in op.regions():
                self._region(inner, dict(known))
            if op.REGION_FIELDS:
                for inner in op.regions():
                    for each in inner.walk():
                        self._effects(each, known, inside=True)
        region.ops = kept

    def _effects(self, op: Op, known: dict[Value, Value], inside: bool = False) -> None:
        """Forget, or note, what an op writes."""
        if isinstance(op, memory.Store):
            for pointer in [each for each in known if self.places.may_meet(each, op.pointer)]:
                del known[pointer]
            if not inside and not op.volatile and self._is_kept(op.value):
                known[op.pointer] = op.value
        elif isinstance(op, atomic.Atomic | atomic.AtomicCas):
            for pointer in [each for each in known if self.places.may_meet(each, op.pointer)]:
                del known[pointer]
        elif op.barrier or isinstance(op, grid.Fence):
            known.clear()

    def _is_kept(self, value: Value) -> bool:
        type_ = value.type
        if not isinstance(type_, DType):
            return False
        return type_.is_integer or type_ in self.types


def _drop_overwritten(region: Region, forward: _Forward) -> None:
    """Drop stores that a later store of the same thread overwrites, where nothing reads between."""
    dead: set[Op] = set()
    pending: dict[Value, memory.Store] = {}
    for op in region.ops:
        if isinstance(op, memory.Store) and not op.volatile:
            before = pending.get(op.pointer)
            if before is not None and before.value.type is op.value.type:
                dead.add(before)
            pending[op.pointer] = op
        elif op.REGION_FIELDS or op.terminator or not (op.pure or isinstance(op, _QUIET)):
            pending.clear()
        elif isinstance(op, memory.Load):
            for pointer in [each for each in pending if forward.places.may_meet(each, op.pointer)]:
                del pending[pointer]
        for inner in op.regions():
            _drop_overwritten(inner, forward)
    region.ops = [op for op in region.ops if op not in dead]


_QUIET = (memory.Load, memory.ReadVar, memory.WriteVar)
