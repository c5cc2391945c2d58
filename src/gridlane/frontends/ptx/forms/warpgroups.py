"""Products of matrices by warpgroups: ``wgmma`` and ``setmaxnreg``. PTX ISA 9.0, "Asynchronous
Warpgroup Level Matrix Instructions".

A product is done at once, which an asynchronous one may be as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gridlane.core.dtypes import b1, f32, i32, u32, u64
from gridlane.frontends.ptx.forms.table import Match, form, rows
from gridlane.frontends.ptx.operands import Number, Operand, Vector
from gridlane.frontends.ptx.values import Values
from gridlane.ir.ops.products import Factor
from gridlane.ir.ops.warpgroups import (
    WARPS,
    WIDEST,
    RegisterLimit,
    WarpgroupCommit,
    WarpgroupFence,
    WarpgroupMma,
    WarpgroupWait,
    depth_of,
)
from gridlane.ir.values import Value

Operands = tuple[Operand, ...]

_MMA = "wgmma .mma_async .sync .aligned"
_EVERY = tuple(range(8, WIDEST + 1, 8))
_OF_INTEGERS = tuple(n for n in _EVERY if n <= 32 or n % 16 == 0)


def _shapes(factor: Factor) -> str:
    columns = _OF_INTEGERS if factor.is_integer else _EVERY
    return "." + "|".join(f"m64n{n}k{depth_of(factor)}" for n in columns)


_BYTES = ".e4m3|e5m2 .e4m3|e5m2"
_SUMS = {"f32": f32, "f16": u32, "s32": i32}


@form(f"{_MMA} {_shapes(Factor.F16)} .f16|f32 .f16 .f16", "d+, a, b, p, x, y, z, w?")
@form(f"{_MMA} {_shapes(Factor.BF16)} .f32 .bf16 .bf16", "d+, a, b, p, x, y, z, w?")
@form(f"{_MMA} {_shapes(Factor.TF32)} .f32 .tf32 .tf32", "d+, a, b, p, x, y")
@form(f"{_MMA} {_shapes(Factor.E4M3)} .f16|f32 {_BYTES}", "d+, a, b, p, x, y")
@form(f"{_MMA} {_shapes(Factor.S8)} [.satfinite] .s32 .s8|u8 .s8|u8", "d+, a, b, p")
def mma(t: Values, m: Match, o: Operands) -> None:
    """A product, and a sum where the predicate holds."""
    left, right = Factor(m.modifiers[-2]), Factor(m.modifiers[-1])
    sums, columns = _SUMS[m.modifiers[-3]], int(m.modifiers[3][4:].split("k")[0])
    numbers = [_number(t, each) for each in o[4:]]
    if any(each not in (1, -1) for each in numbers[:2]):
        t.fail("the products are multiplied by 1 or -1")
    across = numbers[2:]
    if any(each not in (0, 1) for each in across):
        t.fail("a matrix is transposed by 1, or not, by 0")
    in_memory = not isinstance(o[1], Vector)
    if left.bits == 16 and len(across) != 1 + in_memory:
        t.fail("each factor in memory has a number that says whether it is transposed")
    targets = t.parts(o[0], columns // (4 if sums is u32 else 2))
    product = WarpgroupMma(
        columns,
        left,
        right,
        m.has("satfinite"),
        prod(numbers[:2]) < 0,
        in_memory and bool(across and across[0]),
        bool(across and across[-1]),
        True,
        _left(t, o[1]),
        *_matrix(t, o[2]),
        _scale(t, o[3]),
        tuple(t.read(part, sums) for part in targets),
    )
    for target, value in zip(targets, t.b.emit(product).results, strict=True):
        t.write(target, value)


def _left(t: Values, operand: Operand) -> tuple[Value, ...]:
    if isinstance(operand, Vector):
        return tuple(t.read(part, u32) for part in t.parts(operand, 4))
    return _matrix(t, operand)


def _matrix(t: Values, operand: Operand) -> tuple[Value, Value]:
    """The start and the layout that a descriptor has."""
    descriptor = t.read(operand, u64)
    return t.described(descriptor), descriptor


def _scale(t: Values, operand: Operand) -> Value:
    if isinstance(operand, Number):
        return t.b.const(bool(operand.value), b1)
    return t.read(operand, b1)


def _number(t: Values, operand: Operand) -> int:
    if not isinstance(operand, Number):
        t.fail("the operands behind the predicate are constants")
    return int(operand.value)


rows(
    ("wgmma .fence .sync .aligned", "", WarpgroupFence),
    ("wgmma .commit_group .sync .aligned", "", WarpgroupCommit),
)


@form("wgmma .wait_group .sync .aligned", "n")
def wait(t: Values, m: Match, o: Operands) -> None:
    """Wait for groups of products."""
    pending = _number(t, o[0])
    if not 0 <= pending < 8:
        t.fail(f"0 to 7 groups may be left, not {pending}")
    t.b.emit(WarpgroupWait(pending, _is_alone(t)))


def _is_alone(t: Values) -> bool:
    """Whether the kernel's blocks are one warpgroup."""
    tuning = t.variables.whole.root.function.tuning
    bounds: Sequence[int] = tuning.get("reqntid") or tuning.get("maxntid") or ()
    return bool(bounds) and prod(bounds) <= 32 * WARPS


@form("setmaxnreg .inc|dec .sync .aligned .u32", "n")
def registers(t: Values, m: Match, o: Operands) -> None:
    """A hint of how many registers the threads need."""
    count = _number(t, o[0])
    if not 24 <= count <= 256 or count % 8:
        t.fail(f"a thread has 24 to 256 registers, a multiple of 8, not {count}")
    t.b.emit(RegisterLimit(count, m.has("inc")))
