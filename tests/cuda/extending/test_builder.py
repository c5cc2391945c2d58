"""Code that a program emits, against llvmlite: the same function emits LLVM IR for its JIT."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite import ir

from gridlane import cuda
from gridlane.core.errors import CompileError
from gridlane.cuda import cgutils, types
from gridlane.cuda.extending import intrinsic
from gridlane.cuda.extending.templates import signature
from gridlane.cuda.kernels.argument_types import typeof
from gridlane.launch import current
from gridlane.launch.devices import get_device

I8, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
F32, F64 = ir.FloatType(), ir.DoubleType()
KINDS = {
    types.int8: (I8, ctypes.c_int8),
    types.int32: (I32, ctypes.c_int32),
    types.int64: (I64, ctypes.c_int64),
    types.uint32: (I32, ctypes.c_uint32),
    types.float32: (F32, ctypes.c_float),
    types.float64: (F64, ctypes.c_double),
    types.boolean: (ir.IntType(1), ctypes.c_bool),
}
INTS = [0, 1, -1, 2, 7, -7, 100, 2**31 - 1, -(2**31)]
FLOATS = [0.0, -0.0, 1.5, -2.5, 3.0, 1e20, float("inf"), float("nan")]


@pytest.fixture(autouse=True)
def _interpreter():
    current.choose(get_device("interp"))


def by_llvm(emit: Callable[..., Any], kinds: tuple[Any, ...], result: Any, args: Any) -> Any:
    """The result of what a function emits, by llvmlite's JIT."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = ir.Module()
    is_bool = result is types.boolean  # which the ABI leaves the upper bits of undefined
    declared = ir.FunctionType(
        I8 if is_bool else KINDS[result][0], [KINDS[kind][0] for kind in kinds]
    )
    function = ir.Function(module, declared, "f")
    builder = ir.IRBuilder(function.append_basic_block())
    made = emit(builder, *function.args)
    builder.ret(builder.zext(made, I8) if is_bool else made)
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(str(module)), machine)
    engine.finalize_object()
    form = ctypes.CFUNCTYPE(KINDS[result][1], *[KINDS[kind][1] for kind in kinds])
    call = form(engine.get_function_address("f"))
    return [call(*[kind.numpy.type(each).item() for kind, each in zip(kinds, row)]) for row in args]


def by_gridlane(emit: Callable[..., Any], kinds: tuple[Any, ...], result: Any, args: Any) -> Any:
    """The same by a kernel."""

    @intrinsic
    def emitted(context, *given):
        return result(*kinds), lambda context, builder, sig, args: emit(builder, *args)

    if len(kinds) == 1:

        @cuda.jit
        def kernel(out, a):
            i = cuda.grid(1)
            out[i] = emitted(a[i])
    else:

        @cuda.jit
        def kernel(out, a, b):
            i = cuda.grid(1)
            out[i] = emitted(a[i], b[i])

    columns = [np.array(column, kind.numpy) for kind, column in zip(kinds, zip(*args))]
    out = np.zeros(len(args), result.numpy)
    kernel[1, len(args)](out, *columns)
    return out.tolist()


def check(emit: Any, kinds: tuple[Any, ...], result: Any, args: Any) -> None:
    want = by_llvm(emit, kinds, result, args)
    np.testing.assert_array_equal(by_gridlane(emit, kinds, result, args), want)


PAIRS = [(a, b) for a in INTS for b in INTS]
SAFE = [(a, b) for a, b in PAIRS if b not in (0, -1)]


@pytest.mark.parametrize("name", ["add", "sub", "mul", "and_", "or_", "xor"])
def test_integers(name):
    check(lambda b, x, y: getattr(b, name)(x, y), (types.int32,) * 2, types.int32, PAIRS)


@pytest.mark.parametrize("name", ["sdiv", "srem", "udiv", "urem"])
def test_division(name):
    check(lambda b, x, y: getattr(b, name)(x, y), (types.int32,) * 2, types.int32, SAFE)


@pytest.mark.parametrize("name", ["shl", "lshr", "ashr"])
def test_shifts(name):
    args = [(a, b) for a in INTS for b in (0, 1, 5, 31)]
    check(lambda b, x, y: getattr(b, name)(x, y), (types.int32,) * 2, types.int32, args)


@pytest.mark.parametrize("name", ["fadd", "fsub", "fmul", "fdiv", "frem"])
def test_floats(name):
    args = [(a, b) for a in FLOATS for b in FLOATS]
    check(lambda b, x, y: getattr(b, name)(x, y), (types.float64,) * 2, types.float64, args)


@pytest.mark.parametrize("op", ["==", "!=", "<", "<=", ">", ">="])
def test_comparisons(op):
    ints, floats = (types.int32,) * 2, (types.float64,) * 2
    pairs = [(a, b) for a in FLOATS for b in FLOATS]
    check(lambda b, x, y: b.icmp_signed(op, x, y), ints, types.boolean, PAIRS)
    check(lambda b, x, y: b.icmp_unsigned(op, x, y), ints, types.boolean, PAIRS)
    check(lambda b, x, y: b.fcmp_ordered(op, x, y), floats, types.boolean, pairs)
    check(lambda b, x, y: b.fcmp_unordered(op, x, y), floats, types.boolean, pairs)


def test_comparisons_with_nan():
    floats, pairs = (types.float64,) * 2, [(a, b) for a in FLOATS for b in FLOATS]
    check(lambda b, x, y: b.fcmp_ordered("ord", x, y), floats, types.boolean, pairs)
    check(lambda b, x, y: b.fcmp_unordered("uno", x, y), floats, types.boolean, pairs)


CASTS: list[tuple[str, Any, Any, list[Any]]] = [
    ("trunc", types.int32, types.int8, INTS),
    ("trunc", types.int32, types.boolean, INTS),
    ("zext", types.int8, types.int32, [0, 1, -1, 127, -128]),
    ("sext", types.int8, types.int32, [0, 1, -1, 127, -128]),
    ("zext", types.boolean, types.int32, [0, 1]),
    ("sext", types.boolean, types.int32, [0, 1]),
    ("sitofp", types.int32, types.float64, INTS),
    ("uitofp", types.int32, types.float64, INTS),
    ("fptosi", types.float64, types.int32, [0.0, 1.9, -1.9, 1e9]),
    ("fptoui", types.float64, types.int32, [0.0, 1.9, 3e9]),
    ("fpext", types.float32, types.float64, FLOATS),
    ("fptrunc", types.float64, types.float32, FLOATS),
    ("bitcast", types.float32, types.int32, [0.0, -0.0, 1.5, -2.5]),
    ("bitcast", types.int64, types.float64, [0, 1, 2**62]),
]


@pytest.mark.parametrize(("name", "own", "wanted", "values"), CASTS)
def test_conversions(name, own, wanted, values):
    args = [(value,) for value in values]
    check(lambda b, x: getattr(b, name)(x, KINDS[wanted][0]), (own,), wanted, args)


def test_negation_selection_and_constants():
    def emit(b, x, y):
        less = b.icmp_signed("<", x, y)
        one = ir.Constant(I32, 1)
        return b.select(less, b.add(b.neg(x), one), b.xor(b.not_(y), I32(0x80000000)))

    check(emit, (types.int32,) * 2, types.int32, PAIRS)


def test_an_unsigned_argument_keeps_its_bits():
    ints = (types.uint32, types.int32)
    args = [(2**32 - 1, 3), (2**31, 1), (5, 2)]
    check(lambda b, x, y: b.sdiv(x, y), ints, types.uint32, args)


def call(codegen: Any, *args: Any) -> Any:
    """The result of one intrinsic, for values."""

    @intrinsic
    def emitted(context, *given):
        return given[0](*given), codegen

    @cuda.jit
    def kernel(out, args):
        out[0] = emitted(*args)

    out = np.zeros(1, np.float64)
    kernel[1, 1](out, args)
    return out[0]


def test_structs():
    def codegen(context, builder, sig, args):
        pair = context.make_tuple(builder, types.UniTuple(types.float64, 2), [args[0], args[0]])
        pair = builder.insert_value(pair, context.get_constant(types.float64, 4), 1)
        first, second = cgutils.unpack_tuple(builder, pair)
        number = cgutils.create_struct_proxy(types.complex128)(context, builder)
        number.real, number.imag = first, second
        value = number._getvalue()
        back = cgutils.create_struct_proxy(types.complex128)(context, builder, value)
        return builder.fadd(back.real, builder.fmul(back.imag, builder.extract_value(value, 1)))

    assert call(codegen, 3.0) == 3.0 + 16.0


def test_python_functions_and_operators():
    def cube(x):
        return x * x * x

    def codegen(context, builder, sig, args):
        made = context.compile_internal(builder, cube, sig, args)
        both = types.float64(types.float64, types.float64)
        added = context.get_function(operator.add, both)(builder, [made, args[0]])
        return context.cast(builder, added, types.float64, types.float64)

    assert call(codegen, 3.0) == 30.0


WRONG: list[tuple[Any, str]] = [
    (lambda c, b, s, a: b.alloca(I32), "builder.alloca is not translated"),
    (lambda c, b, s, a: b.add(a[0], a[0]), "builder.add does not take f64"),
    (lambda c, b, s, a: b.fadd(a[0], F32(1)), "builder.fadd of f64 and f32"),
    (lambda c, b, s, a: b.fptrunc(a[0], F64), "builder.fptrunc does not convert f64 to f64"),
    (lambda c, b, s, a: c.get_constant(types.int32, 1), "the code gives i32, where float64"),
    (lambda c, b, s, a: None, "non-void function returns None"),
    (lambda c, b, s, a: c.nrt, "context.nrt is of numba's compiler"),
    (lambda c, b, s, a: cgutils.alloca_once(b, I32), "cgutils.alloca_once is not translated"),
    (lambda c, b, s, a: 1 / 0, "raised ZeroDivisionError"),
]


@pytest.mark.parametrize(("codegen", "words"), WRONG)
def test_refusals(codegen, words):
    with pytest.raises(CompileError, match=words) as caught:
        call(codegen, 3.0)
    assert "emitted(*args)" in str(caught.value)  # the line of the call


def test_a_signature_without_a_return_type():
    @intrinsic
    def emitted(context, x):
        return signature(None, x), lambda c, b, s, a: a[0]

    @cuda.jit
    def kernel(out):
        out[0] = emitted(out[0])

    with pytest.raises(CompileError, match="has no return type; void is one"):
        kernel[1, 1](np.zeros(1))


def test_types_of_values():
    seen = []

    def codegen(context, builder, sig, args):
        seen.extend(str(each.type) for each in args)
        assert str(context.get_value_type(sig.return_type)) == "double"
        return args[0]

    call(codegen, 3.0, 1, True, (1, 2.0), 1j)
    assert seen == ["double", "i64", "i1", "{i64, double}", "{double, double}"]
    assert typeof(3.0) is types.float64
