"""Our own mathematical functions: how far they are from the exact value, and what they are made of.

The reference is mpmath, with 60 digits; infinities, NaN and signed zeros are the interpreter's.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest
from benchmarks import accuracy
from tests.devices import assert_same, run_on
from tests.effort import examples

from gridlane.conformance import cases
from gridlane.conformance.functions import column, distance
from gridlane.conformance.special import grid_of, special
from gridlane.core.dtypes import FLOATS, b1, bf16, f16, f32, f64, i32, i64, u32, u64
from gridlane.ir.builder import Builder
from gridlane.ir.op import REGISTRY, FastMath
from gridlane.ir.ops import arith, math
from gridlane.ir.values import Module
from gridlane.ir.verifier import verify
from gridlane.passes.legalise.math import FUNCTIONS, NOTHING, NVPTX, legalize_math

NAMES = sorted(accuracy.FUNCTIONS)
EXACT = (arith.Rem, math.Ldexp, math.Frexp, math.Nextafter)
POINTS = examples(200, 3000)
"""For each interval of a function; with random bits there are three intervals or so."""


def made(name: str, dtype) -> Module:
    """A verified module in which a kernel calls our function."""
    module = accuracy.kernel(name, dtype, 2 if name in accuracy.BINARY else 1)
    legalize_math(module, NOTHING)
    verify(module)
    return module


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_accuracy(name: str, dtype) -> None:
    measured = accuracy.FUNCTIONS[name]
    for interval in (*measured.intervals[dtype is f64], None):
        arguments = accuracy.columns(name, dtype, interval, POINTS)
        if interval is None:
            arguments = [values[::4] for values in arguments]  # thousands, most of them edges
        found = accuracy.worst(name, arguments, accuracy.computed(name, arguments))
        assert found.ulp <= measured.limits[dtype is f64], f"{name}{found.lane}: {found.ulp} ulp"


HARDEST = {f32: 16367173 * 2.0**72, f64: 6381956970095103 * 2.0**797}
"""The arguments nearest to a multiple of pi / 2 (Muller, Elementary Functions, chapter on range
reduction)."""


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_near_quarter_turns(name: str, dtype) -> None:
    turns = np.unique(np.geomspace(1, 3e6 if dtype is f64 else 3e3, 1500).round())
    angles = np.concatenate([turns * (np.pi / 2), [HARDEST[dtype]]]).astype(dtype.numpy)
    arguments = [np.concatenate([angles, -angles, np.nextafter(angles, dtype.numpy.type(0))])]
    found = accuracy.worst(name, arguments, accuracy.computed(name, arguments))
    assert found.ulp <= 1.1, f"{name}{found.lane}: {found.ulp} ulp"


@pytest.mark.parametrize("name", NAMES)
def test_a_multiply_add_that_rounds_twice_is_enough_for_f32(name: str) -> None:
    measured = accuracy.FUNCTIONS[name]
    for interval in measured.intervals[0]:
        arguments = accuracy.columns(name, f32, interval, POINTS)
        got = accuracy.computed(name, arguments, unfused)
        found = accuracy.worst(name, arguments, got)
        assert found.ulp <= measured.limits[0], f"{name}{found.lane}: {found.ulp} ulp"


def unfused(module: Module) -> None:
    """Put a product and a sum in the place of each Fma."""
    for function in module.functions.values():
        replaced = {}
        for region in [function.body, *(r for op in function.body.walk() for r in op.regions())]:
            ops, region.ops = region.ops, []
            builder = Builder(module, function)
            builder.region = region
            for op in ops:
                if isinstance(op, arith.Fma):
                    replaced[op.result] = builder.value(
                        arith.Add(builder.value(arith.Mul(op.a, op.b)), op.c)
                    )
                else:
                    region.ops.append(op)
        for op in function.body.walk():
            op.replace_operands(lambda value: replaced.get(value, value))
    assert not any(isinstance(op, arith.Fma) for op in all_ops(module))
    verify(module)


def all_ops(module: Module):
    return [op for function in module.functions.values() for op in function.body.walk()]


# ---- special values


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_special_values(name: str, dtype) -> None:
    few = special(dtype, 6)
    steps = np.arange(-45, 45, 0.5).astype(dtype.numpy)
    arguments = [*grid_of(few, few)] if name in accuracy.BINARY else []
    arguments = arguments or [np.concatenate([special(dtype, 40), steps])]
    got = accuracy.computed(name, arguments)
    found = accuracy.worst(name, arguments, got)
    assert found.ulp <= accuracy.FUNCTIONS[name].limits[dtype is f64], f"{name}{found.lane}"
    wanted = defined(name, arguments)
    for lane in zip(*arguments, got, wanted, strict=True):
        *operands, ours, theirs = (float(value) for value in lane)
        text = f"{name}{operands}: {ours}, not {theirs}"
        assert kind(ours) == kind(theirs), text
        finite = all(np.isfinite(operands))
        if not finite or accuracy.exact_value(name, tuple(operands)) is None:
            assert ours == pytest.approx(theirs, rel=1e-6, nan_ok=True), text


def defined(name: str, arguments: list[np.ndarray]) -> np.ndarray:
    """What the interpreter says."""
    dtype = f32 if arguments[0].dtype == np.float32 else f64
    emit = cases.emitting(REGISTRY[name])
    case = cases.over(name, "", [dtype] * len(arguments), arguments, emit)
    return run_on("interp", case.module, case.grid, case.block, case.arrays).arrays[-1]


def kind(value: float) -> str:
    """NaN, an infinity, a zero or a finite number, with its sign."""
    if np.isnan(value):
        return "nan"
    what = "infinite" if np.isinf(value) else "zero" if value == 0 else "finite"
    return f"{what}{np.signbit(value)}"


@pytest.mark.parametrize(
    "case", [c for c in cases.arithmetic() if REGISTRY[c.op] in EXACT], ids=str
)
def test_exact_functions(case: cases.Case) -> None:
    launch = (case.grid, case.block, case.arrays)
    wanted = run_on("interp", case.module, *launch).arrays
    legalize_math(case.module, NOTHING)
    verify(case.module)
    for device in ("interp", "cpu"):
        assert_same(run_on(device, case.module, *launch).arrays, wanted, case.labels)


@pytest.mark.parametrize("dtype", [f16, bf16], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_half_precision(name: str, dtype) -> None:
    operands = 2 if name in accuracy.BINARY else 1
    arguments = [column(dtype, f"{name}{n}", 1000) for n in range(operands)]
    case = cases.over(name, "", [dtype] * operands, arguments, cases.emitting(REGISTRY[name]))
    launch = (case.grid, case.block, case.arrays)
    wanted = run_on("interp", case.module, *launch).arrays[-1]
    legalize_math(case.module, NOTHING)
    verify(case.module)
    got = run_on("interp", case.module, *launch).arrays[-1]
    assert distance(got, wanted).max() <= 1


# ---- what the functions are made of

WORDS = {
    f32: {b1, f32, i32, u32},
    f64: {b1, f64, i32, u32, i64, u64},
}


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize("cls", FUNCTIONS, ids=lambda cls: cls.name)
def test_what_is_left(cls, dtype) -> None:
    case = next(c for c in all_cases(cls) if c.module.kernel.params[0].value.type.element is dtype)
    legalize_math(case.module, NOTHING)
    verify(case.module)
    functions = [f for f in case.module.functions.values() if not f.is_kernel]
    assert len(functions) == 1
    for op in functions[0].body.walk():
        assert type(op) not in FUNCTIONS or not next(op.operands()).type.is_float, op
        types = {value.type for value in (*op.results, *op.operands())}
        assert types <= WORDS[dtype], op
    assert {var.type for var in functions[0].variables} <= WORDS[dtype]


ARITHMETIC = tuple(cases.arithmetic())


def all_cases(cls):
    """Cases of an op over every float type."""
    found = [copy.deepcopy(case) for case in ARITHMETIC if case.op == cls.name]
    if cls in cases.INEXACT:
        count = 2 if issubclass(cls, math.MathBinary) else 1
        for dtype in FLOATS:
            arrays = [np.ones(4, dtype.numpy)] * count
            found.append(
                cases.over(cls.name, str(dtype), [dtype] * count, arrays, cases.emitting(cls))
            )
    return found


def test_one_function_for_each_op_and_type() -> None:
    kernel = cases.over("sin", "", [f32, f64], [np.ones(4, "f4"), np.ones(4, "f8")], several)
    legalize_math(kernel.module, NOTHING)
    assert sorted(kernel.module.functions) == [
        *("gridlane.cos.f32", "gridlane.sin.f32", "gridlane.sin.f64", "kernel"),
    ]


def several(b, x, y):
    b.fast = FastMath.AFN
    once = b.unary(math.Sin, b.unary(math.Sin, x))
    return [b.unary(math.Cos, once), b.unary(math.Sin, y)]


def test_what_a_target_has_stays() -> None:
    module = accuracy.kernel("rsqrt", f32, 1)
    before = [op.name for op in module.kernel.body]
    legalize_math(module, NVPTX)
    assert [op.name for op in module.kernel.body] == before
    narrow = next(c for c in all_cases(math.Exp) if str(c) == "exp-bf16")
    legalize_math(narrow.module, lambda op, dtype: dtype is f32)
    names = [op.name for op in narrow.module.kernel.body.walk()]
    assert "exp" in names and "call" not in names
    verify(narrow.module)


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_compiled_code_gives_the_same(name: str, dtype) -> None:
    operands = 2 if name in accuracy.BINARY else 1
    arguments = [column(dtype, f"{name}{n}", 500) for n in range(operands)]
    case = cases.over(name, "", [dtype] * operands, arguments, cases.emitting(REGISTRY[name]))
    legalize_math(case.module, NOTHING)
    launch = (case.module, case.grid, case.block, case.arrays)
    wanted, got = run_on("interp", *launch), run_on("cpu", *launch)
    assert_same(got.arrays, wanted.arrays, case.labels)
