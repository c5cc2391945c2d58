"""Undoes what compilers for GPUs make of a division of 64-bit integers: a branch on whether both
operands fit in 32 bits, and a division on each side.

Lanes that differ in the test would divide twice, and each side runs under a mask. A vector's
division is one in floating point whatever the width (``codegen/llvm/vector_integers.py``), so the
wide one alone is faster. Its result is that of both sides, but for a quotient by 0.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType, u32
from gridlane.core.frozen import frozen
from gridlane.ir.builder import constant
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.values import Module, Region, Value, Var
from gridlane.passes.optimise.promote import promote_variables

LOW, HIGH = (1 << 32) - 1, (1 << 64) - (1 << 32)


def divide_whole(module: Module) -> None:
    """Replace a branch between the divisions of 32 and 64 bits by that of 64."""
    changed = False
    for function in module.functions.values():
        waiting = [function.body]
        while waiting:
            region = waiting.pop()
            ops: list[Op] = []
            for op in region.ops:
                wide = _wide_side(op) if isinstance(op, control.If) else None
                if wide is None:
                    waiting += op.regions()
                    ops.append(op)
                else:
                    ops += wide
                    changed = True
            region.ops = ops
    if changed:
        promote_variables(module)


@frozen
class _Result:
    """A quotient or a remainder of two values."""

    kind: str
    lhs: Value
    rhs: Value


def _wide_side(op: control.If) -> list[Op] | None:
    """The ops that compute what both sides of a branch do, or None if it is another branch."""
    tested = _tested(op.condition)
    if tested is None:
        return None
    operands, narrow_first = tested
    narrow, wide = (op.then, op.orelse) if narrow_first else (op.orelse, op.then)
    short, long = _written(narrow, 32), _written(wide, 64)
    if short is None or long is None or short.keys() != long.keys():
        return None
    for var, (result, _) in long.items():
        if short[var][0] != result:
            return None
        if not all(value in operands or _is_short(value) for value in (result.lhs, result.rhs)):
            return None
    wide_ops: list[Op] = []
    for each in wide.ops:
        if isinstance(each, memory.WriteVar) and long[each.var][0].kind == "div":
            wide_ops += _guarded(op.condition, narrow_first, each, long[each.var][0])
        else:
            wide_ops.append(each)
    return wide_ops


def _guarded(
    condition: Value, narrow_first: bool, write: memory.WriteVar, result: _Result
) -> list[Op]:
    """The write of a quotient, which by 0 is that of the narrow side where that ran."""
    zero = arith.Const(0, result.rhs.type, loc=write.loc)
    by_zero = arith.Eq(result.rhs, zero.result, loc=write.loc)
    ran: list[Op] = []
    if not narrow_first:
        ran = [arith.Not(condition, loc=write.loc)]
        condition = ran[0].results[0]
    both = arith.And(by_zero.result, condition, loc=write.loc)
    assert isinstance(write.value.type, DType)
    ones = arith.Const(LOW, write.value.type, loc=write.loc)
    chosen = arith.Select(both.result, ones.result, write.value, loc=write.loc)
    write.value = chosen.result
    return [zero, by_zero, *ran, both, ones, chosen, write]


def _tested(condition: Value) -> tuple[set[Value], bool] | None:
    """The values that a test requires to fit in 32 bits, and whether it holds where they do."""
    op, holds = condition.op, True
    while isinstance(op, arith.Not):
        op, holds = op.value.op, not holds
    if not isinstance(op, arith.Eq | arith.Ne) or constant(op.rhs) != 0:
        return None
    test = _root(op.lhs, 64).op
    if not isinstance(test, arith.And) or not _is_high(test.rhs):
        return None
    values: set[Value] = set()
    waiting = [_root(test.lhs, 64)]
    while waiting:
        value = waiting.pop()
        if isinstance(value.op, arith.Or):
            waiting += [_root(value.op.lhs, 64), _root(value.op.rhs, 64)]
        values.add(value)
    return values, holds is isinstance(op, arith.Eq)


def _is_high(mask: Value) -> bool:
    known = constant(mask)
    return type(known) is int and known & (1 << 64) - 1 == HIGH


def _is_short(value: Value) -> bool:
    """Whether a value is one of 32 bits, zero-extended."""
    op = value.op
    source = op.value.type if isinstance(op, arith.Cast) else None
    known = constant(value)
    if type(known) is int:
        return 0 <= known <= LOW
    is_small = isinstance(source, DType) and source.is_integer and source.bits <= 32
    return is_small and not source.is_signed  # type: ignore[union-attr]  # a DType


def _written(region: Region, bits: int) -> dict[Var, tuple[_Result, Op]] | None:
    """The quotients and remainders that a region writes; None where it does anything else."""
    results: dict[Var, tuple[_Result, Op]] = {}
    known: dict[Var, Value] = {}
    for op in region.ops:
        if isinstance(op, memory.WriteVar):
            result = _result(op.value, bits, known)
            if result is None or op.var in results:
                return None
            results[op.var] = result, op
            known[op.var] = op.value
        elif not op.pure and not (isinstance(op, memory.ReadVar) and op.var in known):
            return None
    return results or None


def _result(value: Value, bits: int, known: dict[Var, Value]) -> _Result | None:
    """What a written value is, computed in so many bits."""
    if bits == 32:
        op = value.op
        if not isinstance(op, arith.Cast) or op.value.type is not u32 or value.type.size != 8:
            return None
        value = op.value
    value = _root(value, bits)
    if isinstance(value.op, memory.ReadVar):
        value = _root(known[value.op.var], bits) if value.op.var in known else value
    op = value.op
    if isinstance(op, arith.Div | arith.Rem) and _divides(op, bits):
        return _Result(op.name, _root(op.lhs), _root(op.rhs))
    if not isinstance(op, arith.Sub):
        return None
    product = _root(op.rhs, bits).op
    if not isinstance(product, arith.Mul):
        return None
    for quotient, divisor in ((product.lhs, product.rhs), (product.rhs, product.lhs)):
        computed = _result_of_quotient(quotient, bits, known)
        wanted = _Result("div", _root(op.lhs), _root(divisor))
        if computed == wanted:
            return _Result("rem", wanted.lhs, wanted.rhs)
    return None


def _result_of_quotient(value: Value, bits: int, known: dict[Var, Value]) -> _Result | None:
    value = _root(value, bits)
    if isinstance(value.op, memory.ReadVar) and value.op.var in known:
        value = _root(known[value.op.var], bits)
    if not isinstance(value.op, arith.Div) or not _divides(value.op, bits):
        return None
    return _Result("div", _root(value.op.lhs), _root(value.op.rhs))


def _divides(op: arith.Div | arith.Rem, bits: int) -> bool:
    """Whether a division is of integers of so many bits; the narrow one is unsigned."""
    type_ = op.lhs.type
    if not isinstance(type_, DType) or not type_.is_integer or type_.bits != bits:
        return False
    return bits == 64 or not type_.is_signed


def _root(value: Value, bits: int = 0) -> Value:
    """A value without casts between integers: those that keep all ``bits``, or, with 0, also those
    to the low 32 bits, which are all that there is where the test holds."""
    op = value.op
    while isinstance(op, arith.Cast):
        source, target = op.value.type, op.type
        if not (isinstance(source, DType) and source.is_integer and target.is_integer):
            break
        if target.bits < (bits or 32) or source.bits < target.bits:
            break
        if bits and source.bits != target.bits:
            break
        value = op.value
        op = value.op
    return value
