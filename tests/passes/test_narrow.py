"""Which integers narrow, and which must not; tests/property has the answers of random kernels."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import run_on

from gridlane import compiler, cuda
from gridlane.analysis.intervals import clamp, meet, widened
from gridlane.backends import backend
from gridlane.backends.record import Fact
from gridlane.compiler import pipeline
from gridlane.core.argtypes import float32, int32, int64, uint64
from gridlane.core.compact import LIMIT, Variant
from gridlane.core.dtypes import DType, i64, u64
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.parser import parse_module
from gridlane.ir.verifier import verify
from gridlane.launch import compact
from gridlane.launch.parameters import Parameters

VECTOR, MATRIX = float32[::1], float32[:, ::1]


def narrowed(function, types):
    module = compiler.translate(function, types, KernelOptions())
    pipeline.run(module, backend("cuda"), {Fact.COMPACT, Fact.LIBDEVICE, Fact.ASYNC_COPIES})
    verify(module)
    return module


def wide_ops(module):
    """Names of the ops that compute in 64 bits; parameters are cut to size by casts."""
    return [
        op.name
        for op in module.kernel.body.walk()
        for value in op.results
        if value.type in (i64, u64) and op.name != "cast"
    ]


def matmul(a, b, c, n):
    x, y = cuda.grid(2)
    total = float32(0)
    for k in range(n):
        total += a[y, k] * b[k, x]
    c[y, x] = total


def strided(a, n):
    i = cuda.grid(1)
    while i < n:
        a[i] += float32(1)
        i += cuda.gridsize(1)


def counts(out, limit):
    steps = int32(0)
    value = float32(0)
    while steps < limit and value < float32(4):
        value = value * value + float32(0.3)
        steps += int32(1)
    out[cuda.grid(1)] = steps


def down(a, n):
    for i in range(n - 1, -1, -1):
        a[i] = a[i] + float32(1)


def grid_strided(a, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        a[i] += float32(1)


@pytest.mark.parametrize(
    "function, types",
    [
        (grid_strided, (VECTOR, int64)),
        (matmul, (MATRIX, MATRIX, MATRIX, int64)),
        (strided, (VECTOR, int64)),
        (counts, (int32[::1], int64)),
        (down, (VECTOR, int64)),
    ],
)
def test_ordinary_indices_narrow(function, types):
    assert wide_ops(narrowed(function, types)) == []


def product(out, n):
    out[0] = n * n


def shifted(out, n):
    if n * 4 > 1 << 31:
        out[0] = 1


def unsigned(out, n):
    if n > 1 << 40:
        out[0] = 1


@pytest.mark.parametrize(
    "function, types, wide",
    [
        (product, (int64[::1], int64), "mul"),
        (shifted, (int64[::1], int64), "mul"),
        (unsigned, (int64[::1], uint64), "const"),
    ],
)
def test_what_may_be_large_stays_wide(function, types, wide):
    assert wide in wide_ops(narrowed(function, types))


def never(out, n):
    if n * 4 > 1 << 40:
        out[0] = 1


def test_what_the_bounds_decide_is_not_computed():
    assert wide_ops(narrowed(never, (int64[::1], int64))) == ["const"]  # what is stored


def test_a_loop_that_may_pass_the_limit_stays_wide():
    text = """
kernel @k(%p: ptr<i64, global> [path=("data")], %n: i64 [argument=1]) {
  var $i: i64
  loop {
    %i: i64 = read $i
    %end: b1 = gt %i, %n
    if %end {
      break
    }
    %step: i64 = const 2147483647
    %next: i64 = add %i, %step
    write $i, %next
  }
  %last: i64 = read $i
  store %p, %last
}
"""
    module = parse_module(text)
    pipeline.run(module, backend("cuda"), {Fact.COMPACT, Fact.LIBDEVICE, Fact.ASYNC_COPIES})
    verify(module)
    assert [variable.type for variable in module.kernel.variables] == [i64]


def test_debugged_and_other_launches_are_left_alone():
    module = compiler.translate(strided, (VECTOR, int64), KernelOptions())
    compact_code, any_code, debugged = (
        compiler.generate(module, Target("cuda", processor="sm_80", variant=variant), options).code
        for variant, options in (
            (Variant(True), KernelOptions()),
            (Variant(), KernelOptions()),
            (Variant(True), KernelOptions(debug=True)),
        )
    )
    assert b"mul.wide.s32" in compact_code and b"setp.lt.s64" not in compact_code
    assert b".s64" in any_code and b".s64" in debugged


# --- intervals ---


def test_intervals():
    assert clamp("lt", False, (0, 100), (50, 60)) == ((50, 100), (50, 60))
    assert clamp("eq", True, (0, 3), (4, 5)) is None
    assert clamp("ne", True, (4, 4), (4, 4)) is None
    assert clamp("gt", True, (0, 10), (5, 20)) == ((6, 10), (5, 9))
    assert meet((0, 1), (2, 3)) is None
    assert widened((0, 1), (0, 2), (i64.min, i64.max)) == (0, LIMIT - 1)
    assert widened((0, 1), (-5, 1), (i64.min, i64.max)) == (-LIMIT, 1)


def test_the_interpreter_agrees_with_the_rules_of_ops():
    """Each rule holds for every pair of small i8s, and for the edges."""
    from gridlane import interp
    from gridlane.analysis.intervals import transfer
    from gridlane.core.dtypes import i8
    from gridlane.ir.builder import Builder
    from gridlane.ir.ops import arith
    from gridlane.ir.types import pointer
    from gridlane.ir.values import Function, Module, Param, Value

    binary = [arith.Add, arith.Sub, arith.Mul, arith.Div, arith.Rem, arith.Min, arith.Max]
    binary += [arith.And, arith.Or, arith.Xor, arith.Shl, arith.Shr]
    points = [-128, -127, -3, -1, 0, 1, 2, 5, 126, 127]
    for kind in binary:
        function = Function("k", is_kernel=True)
        places = [Value(pointer(i8)) for _ in range(3)]
        function.params = [Param(value, n) for n, value in enumerate(places)]
        module = Module({"k": function})
        b = Builder(module, function)
        a_values = np.repeat(np.array(points, np.int8), len(points))
        b_values = np.tile(np.array(points, np.int8), len(points))
        _fill(b, places, kind)
        memory = interp.Memory()
        out = np.zeros_like(a_values)
        addresses = [memory.map(x, "x") for x in (a_values, b_values, out)]
        interp.run(module, (1, 1, 1), (len(out), 1, 1), addresses, memory, 0)
        op = next(
            op for op in function.body.walk() if isinstance(op, kind) and op.results[0].type is i8
        )
        ends = list(op.operands())
        for x, y, z in zip(a_values.tolist(), b_values.tolist(), out.tolist()):
            known = {ends[0]: (x, x), ends[1]: (y, y)}
            low, high = transfer(op, op.results[0], lambda value: known[value])
            assert low <= z <= high, f"{kind.__name__}({x}, {y}) = {z}, not in [{low}, {high}]"


def _fill(b, places, kind):
    from gridlane.core.dtypes import i32
    from gridlane.ir.ops import grid, memory

    lane = b.emit(grid.ThreadIdx(grid.Axis.X)).results[0]
    assert lane.type is i32
    a, c, out = (b.emit(memory.Offset(place, lane)).results[0] for place in places)
    left, right = (b.emit(memory.Load(place)).results[0] for place in (a, c))
    b.emit(memory.Store(out, b.emit(kind(left, right)).results[0]))


# --- launches ---


def test_which_launches_are_compact():
    assert compact.grid_holds((1 << 20, 1, 1), (1024, 1, 1))
    assert not compact.grid_holds((1 << 21, 1, 1), (1024, 1, 1))
    assert not compact.grid_holds(((1 << 21) + 1, 1, 1), (32, 1, 1))
    assert compact.arguments_seem_small((1, -LIMIT, None, 2.5, np.float32(1)))
    assert not compact.arguments_seem_small((LIMIT + 1,))


@pytest.mark.parametrize(
    "types, values, holds",
    [
        ((int64,), (LIMIT,), True),
        ((int64,), (LIMIT + 1,), False),
        ((int64,), (-LIMIT - 1,), False),
        ((int32,), (-(2**31),), True),
        ((VECTOR,), (4096, 1 << 28, 4), True),
        ((VECTOR,), (4096, (1 << 28) + 2, 4), False),
        ((float32[:, :],), (4096, 1 << 20, 1 << 20, 4, 4), True),
        ((float32[:, :],), (4096, 1 << 20, 1 << 20, 1 << 12, 4), False),
        ((float32[:, :],), (4096, 3, 3, -(1 << 30), 4), False),
        ((float32[:],), (4096, 1 << 40, 0), False),
    ],
)
def test_parameters_are_measured(types, values, holds):
    module = compiler.translate(_one, types, KernelOptions())
    artifact = compiler.generate(module, Target("interp"))
    block = bytearray(artifact.param_bytes)
    for slot, value in zip(artifact.params, values, strict=True):
        dtype = slot.dtype.numpy if isinstance(slot.dtype, DType) else np.dtype("u8")
        data = np.array(value, dtype).tobytes()
        block[slot.offset : slot.offset + len(data)] = data
    parameters = Parameters(artifact.params, artifact.param_bytes)
    assert compact.checker(parameters)(bytes(block)) is holds


def _one(a):
    return


WRAPPING = """
kernel @k(%p: ptr<i32, global> [path=("data")], %n: i32 [argument=1]) {
  %lane: i32 = lane_id
  %five: i32 = const 5
  %most: i32 = const 2147483647
  %small: i32 = mul %lane, %five
  %wraps: i32 = add %small, %most
  %any: i32 = mul %n, %n
  %at: ptr<i32, global> = offset %p, %small
  store %at, %wraps
  store %p, %any
}
"""


def test_what_may_wrap_is_not_marked():
    """Nor is what has all numbers of its type for bounds; LLVM would make use of the mark."""
    module = parse_module(WRAPPING)
    pipeline.run(module, backend("cuda"), {Fact.COMPACT, Fact.LIBDEVICE, Fact.ASYNC_COPIES})
    marks = {op.name: [] for op in module.kernel.body.walk()}
    for op in module.kernel.body.walk():
        marks[op.name].append(getattr(op, "nowrap", None))
    assert marks["mul"] == [True, False] and marks["add"] == [False]


def test_the_interpreter_shows_a_mark_that_is_wrong():
    def stored(nowrap):
        module = parse_module(WRAPPING)
        (add,) = [op for op in module.kernel.body.walk() if op.name == "add"]
        add.nowrap = nowrap
        array = np.zeros(200, np.int32)
        return run_on("interp", module, (1, 1, 1), (32, 1, 1), [array], (3,)).arrays[0]

    right, wrong = stored(False), stored(True)
    assert right[5] == -(2**31) + 4 and wrong[5] != right[5]
