"""Calls of ``cuda.libdevice``: by ops, by functions of the dialect, or refused by name."""

from __future__ import annotations

from collections.abc import Callable

from gridlane.core.dtypes import DType, b1, f16, f32, f64, i16, i32, i64, u16, u32, u64
from gridlane.frontends.python import libdevice_functions
from gridlane.frontends.python.calls.device import call_device
from gridlane.frontends.python.calls.mathematics import is_finite, is_infinite, is_nan
from gridlane.frontends.python.calls.registry import register
from gridlane.frontends.python.conversion import cast_scalar, scalar
from gridlane.frontends.python.device_function import DeviceFunction
from gridlane.frontends.python.libdevice_stubs import SIGNATURES, libdevice
from gridlane.frontends.python.operands import Operand, Scalar, TupleOperand
from gridlane.frontends.python.translator import Translator
from gridlane.ir.libdevice import ONE, QUICK, TWO
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, floating, integer, math
from gridlane.ir.ops.floating import Towards
from gridlane.ir.rounding import arithmetic64
from gridlane.ir.rounding.arithmetic32 import quotient, root
from gridlane.ir.values import Value

TYPES: dict[str, DType] = {"d": f64, "f": f32, "l": i64, "i": i32, "h": i16}
"""The types of the letters of signatures."""
UNSIGNED = {i32: u32, i64: u64, i16: u16}

Build = Callable[..., tuple[Value, ...]]
"""Makes the results, by the translator and the arguments in their types."""

_ROUNDINGS = {"rn": math.Rint, "rz": math.Trunc, "rd": math.Floor, "ru": math.Ceil}
_MODES = {"rz": "rz", "rd": "rm", "ru": "rp"}
_WAYS = {"rz": Towards.ZERO, "rd": Towards.DOWN, "ru": Towards.UP}


def _op(op: type[Op]) -> Build:
    return lambda t, *values: (t.b.value(op(*values)),)


def _unsigned(op: type[Op]) -> Build:
    """An op on the bits of signed numbers."""

    def build(t: Translator, *values: Value) -> tuple[Value, ...]:
        return (t.b.value(op(*[_bits(t, value) for value in values])),)

    return build


def _bits(t: Translator, value: Value) -> Value:
    return t.b.bitcast(value, UNSIGNED[value.type])  # type: ignore[index]  # a signed integer


def _functions() -> dict[str, Build]:
    functions: dict[str, Build] = {}
    for suffix in ("", "f"):
        functions |= {name + suffix: _op(op) for name, op in (ONE | TWO).items()}
    functions |= {f"fast_{name}f": functions[f"{name}f"] for name in QUICK}
    return functions


def _pair(first: str, second: str) -> Build:
    return lambda t, x: (*BUILDS[first](t, x), *BUILDS[second](t, x))


def _parts(t: Translator, x: Value) -> tuple[Value, ...]:
    """modf: the fraction and the whole, with the sign of x."""
    b = t.b
    whole = b.unary(math.Trunc, x)
    infinite = is_infinite(t, Scalar(x))
    fraction = b.select(infinite, b.zero(x.type), b.sub(x, whole))  # type: ignore[arg-type]
    return b.binary(math.Copysign, fraction, x), whole


# ---- integers


def _ffs(t: Translator, x: Value) -> tuple[Value, ...]:
    b = t.b
    bits = _bits(t, x)
    kind = bits.type
    lowest = b.and_(bits, b.sub(b.zero(kind), bits))  # type: ignore[arg-type]
    zeros = b.cast(b.unary(arith.Clz, lowest), i32)
    return (b.sub(b.const(kind.bits, i32), zeros),)  # type: ignore[union-attr]


def _permuted(t: Translator, x: Value, y: Value, selector: Value) -> tuple[Value, ...]:
    chosen = t.b.and_(_bits(t, selector), t.b.const(0x7777, u32))
    return (t.b.value(integer.Prmt(_bits(t, x), _bits(t, y), chosen)),)


# ---- conversions


def _to_integer(rounding: type[Op], kind: DType) -> Build:
    return lambda t, x: (t.b.cast(t.b.unary(rounding, x), kind),)


def _to_float(kind: DType, way: str, unsigned: bool) -> Build:
    """An integer rounded in a direction: the nearest float, or its neighbour. The nearest one is
    compared with the integer in 64 bits; one of 2^63 or 2^64 is above all of them."""

    def build(t: Translator, x: Value) -> tuple[Value, ...]:
        b = t.b
        wide = u64 if unsigned else i64
        number = b.cast(_bits(t, x) if unsigned else x, wide)
        near = b.cast(number, kind)
        if way == "rn":
            return (near,)
        top = b.binary(arith.Ge, near, b.const(2.0 ** (64 if unsigned else 63), kind))
        back = b.cast(near, wide)
        above = b.or_(top, b.binary(arith.Gt, back, number))
        below = b.and_(b.not_(top), b.lt(back, number))
        negative = b.const(False, b1) if unsigned else b.lt(number, b.zero(wide))
        return (_moved(t, near, above, below, negative, way),)

    return build


def _narrowed(way: str) -> Build:
    """A float64 as a float32, rounded in a direction."""

    def build(t: Translator, x: Value) -> tuple[Value, ...]:
        b = t.b
        near = b.cast(x, f32)
        if way == "rn":
            return (near,)
        back = b.cast(near, f64)
        negative = b.lt(x, b.zero(f64))
        return (_moved(t, near, b.binary(arith.Gt, back, x), b.lt(back, x), negative, way),)

    return build


def _moved(
    t: Translator, near: Value, above: Value, below: Value, negative: Value, way: str
) -> Value:
    """The nearest float, or the next one in a direction where it lies on the other side."""
    b, kind = t.b, near.type
    down = b.binary(math.Nextafter, near, b.const(float("-inf"), kind))  # type: ignore[arg-type]
    up = b.binary(math.Nextafter, near, b.const(float("inf"), kind))  # type: ignore[arg-type]
    if way == "rd":
        return b.select(above, down, near)
    if way == "ru":
        return b.select(below, up, near)
    inward = b.select(b.and_(negative, below), up, near)
    return b.select(b.and_(b.not_(negative), above), down, inward)


# ---- rounded arithmetic


def _rounded(name: str, way: str, kind: DType) -> Build:
    """``fadd_rd`` and its like."""
    if way == "rn":
        return _nearest(name)
    if kind is f64:
        return lambda t, *values: (_of_doubles(t, name, _MODES[way], *values),)
    return lambda t, *values: (_towards(t, name, _WAYS[way], *values),)


def _of_doubles(t: Translator, name: str, mode: str, *values: Value) -> Value:
    match name:
        case "sub":
            return arithmetic64.add(t.b, mode, values[0], t.b.neg(values[1]))
        case "rcp":
            return arithmetic64.div(t.b, mode, t.b.const(1.0, f64), *values)
        case "sqrt":
            return arithmetic64.sqrt(t.b, mode, *values)
        case _:
            return getattr(arithmetic64, name)(t.b, mode, *values)


def _nearest(name: str) -> Build:
    def build(t: Translator, *values: Value) -> tuple[Value, ...]:
        b = t.b
        match name:
            case "add":
                return (b.add(*values),)
            case "sub":
                return (b.sub(*values),)
            case "mul":
                return (b.mul(*values),)
            case "div":
                return (b.div(*values),)
            case "rcp":
                return (b.div(b.const(1.0, values[0].type), values[0]),)  # type: ignore[arg-type]
            case "sqrt":
                return (b.unary(math.Sqrt, values[0]),)
            case _:
                return (b.fma(*values),)

    return build


def _towards(t: Translator, name: str, way: Towards, *values: Value) -> Value:
    """A float32 sum, product or both, by the op that rounds once; a quotient or root by float64."""
    b = t.b
    if name in ("div", "rcp"):
        wide = [b.cast(each, f64) for each in values]
        return quotient(b, way, *([b.const(1.0, f64), *wide] if name == "rcp" else wide))
    if name == "sqrt":
        return root(b, way, *values)
    if name == "mul":  # plus a zero of its own sign
        first, second = values
        signs = b.binary(arith.Xor, b.bitcast(first, u32), b.bitcast(second, u32))
        sign = b.bitcast(b.and_(signs, b.const(1 << 31, u32)), f32)
        values = first, second, sign
    elif name in ("add", "sub"):
        first, second = values
        values = first, b.const(1.0, f32), b.neg(second) if name == "sub" else second
    first, second, third = values
    return b.value(floating.FmaTowards(first, second, third, way))


# ---- the table


def _converting() -> dict[str, Build]:
    functions: dict[str, Build] = {}
    for way, rounding in _ROUNDINGS.items():
        for source in ("double", "float"):
            for name, kind in (("int", i32), ("uint", u32), ("ll", i64), ("ull", u64)):
                functions[f"{source}2{name}_{way}"] = _to_integer(rounding, kind)
        for name in ("int", "uint", "ll", "ull"):
            for target, kind in (("double", f64), ("float", f32)):
                functions[f"{name}2{target}_{way}"] = _to_float(kind, way, name[0] == "u")
        functions[f"double2float_{way}"] = _narrowed(way)
        for name in ("add", "sub", "mul", "div", "rcp", "sqrt"):
            functions[f"f{name}_{way}"] = _rounded(name, way, f32)
            functions[f"d{name}_{way}"] = _rounded(name, way, f64)
        functions[f"fmaf_{way}"] = _rounded("fma", way, f32)
        functions[f"fma_{way}"] = _rounded("fma", way, f64)
    return functions


def _sign(t: Translator, x: Value) -> tuple[Value, ...]:
    kind = i32 if x.type is f32 else i64
    return (t.b.lt(t.b.bitcast(x, kind), t.b.zero(kind)),)


def _joined(t: Translator, high: Value, low: Value) -> tuple[Value, ...]:
    b = t.b
    upper = b.binary(arith.Shl, b.cast(_bits(t, high), u64), b.const(32, u64))
    return (b.bitcast(b.or_(upper, b.cast(_bits(t, low), u64)), f64),)


def _word(shift: int) -> Build:
    def build(t: Translator, x: Value) -> tuple[Value, ...]:
        bits = t.b.bitcast(x, u64)
        return (t.b.cast(t.b.binary(arith.Shr, bits, t.b.const(shift, u64)), u32),)

    return build


def _asked(test: Callable[[Translator, Operand], Value]) -> Build:
    return lambda t, x: (test(t, Scalar(x)),)


def _as(kind: DType) -> Build:
    return lambda t, x: (t.b.bitcast(x, kind),)


BUILDS: dict[str, Build] = {
    **_functions(),
    **_converting(),
    **{name: _op(arith.Abs) for name in ("abs", "llabs")},
    **{name: _op(op) for name, op in (("max", arith.Max), ("llmax", arith.Max))},
    **{name: _op(op) for name, op in (("min", arith.Min), ("llmin", arith.Min))},
    **{name: _unsigned(op) for name, op in (("umax", arith.Max), ("ullmax", arith.Max))},
    **{name: _unsigned(op) for name, op in (("umin", arith.Min), ("ullmin", arith.Min))},
    **{name: _unsigned(arith.Brev) for name in ("brev", "brevll")},
    **{name: _unsigned(arith.Clz) for name in ("clz", "clzll")},
    **{name: _unsigned(arith.Popcount) for name in ("popc", "popcll")},
    **{name: _ffs for name in ("ffs", "ffsll")},
    "mul64hi": _op(arith.MulHi),
    "umul64hi": _unsigned(arith.MulHi),
    "byte_perm": _permuted,
    **{name: _nearest("fma") for name in ("fma", "fmaf")},
    "fast_fdividef": _nearest("div"),
    "frsqrt_rn": lambda t, x: (
        t.b.cast(t.b.div(t.b.const(1.0, f64), t.b.unary(math.Sqrt, t.b.cast(x, f64))), f32),
    ),
    **{name: _op(math.Ldexp) for name in ("ldexp", "ldexpf", "scalbn", "scalbnf")},
    **{name: lambda t, x: t.b.emit(math.Frexp(x)).results for name in ("frexp", "frexpf")},
    **{name: _parts for name in ("modf", "modff")},
    "sincos": _pair("sin", "cos"),
    "sincosf": _pair("sinf", "cosf"),
    "fast_sincosf": _pair("sinf", "cosf"),
    **{name: _to_integer(math.Rint, i64) for name in ("llrint", "llrintf")},
    **{name: _to_integer(math.Round, i64) for name in ("llround", "llroundf")},
    **{name: _asked(is_finite) for name in ("isfinited", "finitef")},
    **{name: _asked(is_infinite) for name in ("isinfd", "isinff")},
    **{name: _asked(is_nan) for name in ("isnand", "isnanf")},
    **{name: _sign for name in ("signbitd", "signbitf")},
    "double_as_longlong": _as(i64),
    "longlong_as_double": _as(f64),
    "float_as_int": _as(i32),
    "int_as_float": _as(f32),
    "double2hiint": _word(32),
    "double2loint": _word(0),
    "hiloint2double": _joined,
    "float2half_rn": lambda t, x: (t.b.bitcast(t.b.cast(x, f16), i16),),
    "half2float": lambda t, x: (t.b.cast(t.b.bitcast(x, f16), f32),),
}
"""The functions that ops make."""


def _calling(function: DeviceFunction, wide: bool) -> Callable[..., Operand]:
    """A function of the dialect; of floats in float64."""

    def emit(t: Translator, *operands: Operand) -> Operand:
        given = [scalar(t, operand) for operand in operands]
        if wide:
            given = [cast_scalar(t, x, f64) if x.dtype is f32 else x for x in given]
        return call_device(t, function, list(given), {})

    return emit


def _building(build: Build) -> Callable[..., Operand]:
    def emit(t: Translator, *operands: Operand) -> Operand:
        result = build(t, *[scalar(t, operand).value for operand in operands])
        items = tuple([Scalar(value) for value in result])
        return items[0] if len(items) == 1 else TupleOperand(items)

    return emit


def _typed(signature: str, emit: Callable[..., Operand]) -> Callable[..., Operand]:
    """A function whose arguments are converted to the parameters, and results to their types."""
    results, _, params = signature.partition(":")

    def call(t: Translator, *operands: Operand) -> Operand:
        given = zip(operands, params, strict=True)
        result = emit(t, *[cast_scalar(t, scalar(t, x), TYPES[letter]) for x, letter in given])
        items = result.items if isinstance(result, TupleOperand) else (result,)
        typed = zip(items, results, strict=True)
        cast = [cast_scalar(t, scalar(t, x), TYPES[letter]) for x, letter in typed]
        return cast[0] if len(cast) == 1 else TupleOperand(tuple(cast))

    return call


def _register() -> None:
    emits = {name: _building(build) for name, build in BUILDS.items()}
    for function in libdevice_functions.OTHERS + libdevice_functions.HALF_TURNS:
        emits[function.__name__] = _calling(DeviceFunction(function, floats="float64"), False)
    for function in libdevice_functions.OWN:
        for suffix, floats in (("", "float64"), ("f", "float32")):
            own = DeviceFunction(function, floats=floats)
            emits[function.__name__ + suffix] = _calling(own, False)
    for function in libdevice_functions.WIDE:
        own = DeviceFunction(function, floats="float64")
        for suffix in ("", "f"):
            emits.setdefault(function.__name__ + suffix, _calling(own, True))
    for name, signature in SIGNATURES.items():
        stub = getattr(libdevice, name)
        register((stub,), stub.name, _typed(signature, emits[name]), stub.params)


_register()
