"""``tl.extra.libdevice``: NVIDIA's functions, by the types of their arguments.

They are those of ``cuda.libdevice``: ops, or functions of the Python dialect, whose IR joins the
program's module.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any, cast

from gridlane.core.argtypes import ArgType, scalar_of
from gridlane.core.dtypes import DType, b1, f32, f64, i32
from gridlane.core.options import KernelOptions
from gridlane.frontends.foreign.libdevice import SIGNATURES
from gridlane.frontends.triton.context import Build, builtin
from gridlane.frontends.triton.elementwise import apply
from gridlane.frontends.triton.importing import imported
from gridlane.frontends.triton.numbers import to_tensor
from gridlane.frontends.triton.shapes import matched
from gridlane.frontends.triton.types import int1
from gridlane.frontends.triton.values import tensor
from gridlane.ir.builder import Builder
from gridlane.ir.ops.control import Call
from gridlane.ir.values import Function, Module, Value

_WIDTHS = (("f", "f"), ("", "d"))
_ORDERS_OF_I = ("cyl_bessel_i0", "cyl_bessel_i1")
_NORMS = {"rhypot": 2, "norm3d": 3, "rnorm3d": 3, "norm4d": 4, "rnorm4d": 4}
"""Functions of so many coordinates."""
_KINDS = {"f": "fp32", "d": "fp64", "i": "int32", "l": "int64", "h": "int16"}
_WAYS = ("rn", "rz", "rd", "ru")

_FORMS: dict[str, tuple[str, ...]] = {
    **{name: (name, f"{name}ll") for name in ("clz", "popc", "brev", "ffs")},
    **{name: (name, f"u{name}") for name in ("mul24", "hadd", "rhadd", "sad")},
    **{name: (f"{name}f", f"{name}d") for name in ("isnan", "signbit")},
    **{
        f"{name}_{way}": (f"f{name}_{way}", f"d{name}_{way}")
        for name in ("add", "sub", "mul", "div", "rcp", "sqrt")
        for way in _WAYS
    },
    **{f"fma_{way}": (f"fmaf_{way}", f"fma_{way}") for way in _WAYS},
    "isinf": ("isinff", "isinfd"),
    "mulhi": ("mulhi", "umulhi", "mul64hi", "umul64hi"),
    "abs": ("abs", "llabs", "fabsf", "fabs"),
    "pow": ("powif", "powi", "powf", "pow"),
    "fast_dividef": ("fast_fdividef",),
    "rsqrt_rn": ("frsqrt_rn",),
    "fast_tanhf": ("tanhf",),
}
"""The functions of libdevice that one of Triton's names stands for, where their names differ from
it by more than the f of float32."""

_UNSIGNED = frozenset(
    ["uint_as_float", "umul24", "uhadd", "urhadd", "usad", "umulhi", "umul64hi"]
    + [
        f"{kind}2{target}_{way}"
        for kind in ("uint", "ull")
        for target in ("double", "float")
        for way in _WAYS
    ]
)
_CONVERTS = re.compile("2|_as_")
"""In the names of functions from one type to another."""
_TRUTHS = frozenset(("isnan", "isinf", "finitef", "isfinited"))
"""Functions whose results are conditions."""

_DOUBLE_SUM = "d:dd"
_DIRECT = [
    "byte_perm", "saturatef", "hiloint2double", "double2loint", "double2hiint", "int_as_float",
    "float_as_int", "uint_as_float", "float_as_uint", "longlong_as_double", "double_as_longlong",
    "fast_sinf", "fast_cosf", "fast_tanf", "fast_log2f", "fast_logf", "fast_expf", "fast_exp10f",
    "fast_log10f", "fast_powf", "finitef", "isfinited",
]  # fmt: skip
_FLOATING = [
    "floor",
    "rsqrt",
    "ceil",
    "trunc",
    "exp2",
    "sqrt",
    "rint",
    "llrint",
    "nearbyint",
    "copysign",
    "nextafter",
    "sin",
    "cos",
    "sinpi",
    "cospi",
    "tan",
    "log2",
    "exp",
    "exp10",
    "cosh",
    "sinh",
    "tanh",
    "atan2",
    "atan",
    "asin",
    "acos",
    "log",
    "log10",
    "log1p",
    "acosh",
    "asinh",
    "atanh",
    "expm1",
    "hypot",
    "cbrt",
    "rcbrt",
    "j0",
    "j1",
    "y0",
    "y1",
    "erf",
    "erfinv",
    "erfc",
    "erfcx",
    "erfcinv",
    "normcdfinv",
    "normcdf",
    "lgamma",
    "ldexp",
    "scalbn",
    "fmod",
    "remainder",
    "fma",
    "tgamma",
    "round",
    "llround",
    "fdim",
    "ilogb",
    "logb",
    "jn",
    "yn",
    *_ORDERS_OF_I,
    *_NORMS,
]
_CONVERSIONS = [
    *[
        f"{source}2{target}_{way}"
        for source in ("double", "float")
        for target in ("int", "uint", "ll", "ull")
        for way in _WAYS
    ],
    *[
        f"{source}2{target}_{way}"
        for source in ("int", "uint", "ll", "ull")
        for target in ("double", "float")
        for way in _WAYS
    ],
    *[f"double2float_{way}" for way in _WAYS],
]
_UNAVAILABLE = ["rcp64h"]
_SIGNATURES = SIGNATURES | {
    **{f"{name}{kind}": f"{of}:{of}" for name in _ORDERS_OF_I for kind, of in _WIDTHS},
    **{
        f"{name}{kind}": f"{of}:{of * count}"
        for name, count in _NORMS.items()
        for kind, of in _WIDTHS
    },
    "uint_as_float": "f:i",
    "float_as_uint": "i:f",
}
"""Those of ``cuda.libdevice``, and of functions that it has not."""
_SAME = {"uint_as_float": "int_as_float", "float_as_uint": "float_as_int"}


def _forms(name: str) -> tuple[str, ...]:
    return _FORMS.get(name) or ((f"{name}f", name) if name in _FLOATING else (name,))


def _parameters(form: str) -> tuple[str, ...]:
    """The names of the types that a function takes."""
    letters = _SIGNATURES.get(form, _DOUBLE_SUM).partition(":")[2]
    sign = "u" if form in _UNSIGNED else ""
    return tuple([sign + _KINDS[each] if each in "ilh" else _KINDS[each] for each in letters])


def _build(form: str) -> Build:
    """The IR of a function on values of its parameters' types."""
    from gridlane.frontends.foreign.dialect import BUILDS, TYPES

    results, _, params = _SIGNATURES.get(form, _DOUBLE_SUM).partition(":")
    emit = BUILDS.get(_SAME.get(form, form)) or _of_dialect(form)

    def build(b: Builder, *values: Value) -> Value:
        given = [b.cast(value, TYPES[letter]) for value, letter in zip(values, params, strict=True)]
        made: tuple[Value, ...] = emit(cast("Any", SimpleNamespace(b=b)), *given)
        return made[0] if made[0].type is b1 else b.cast(made[0], TYPES[results[0]])

    return build


def _of_dialect(form: str) -> Callable[..., tuple[Value, ...]]:
    """A function that is written in the Python dialect."""
    from gridlane.frontends.foreign.dialect import libdevice_functions as written

    plain = form.removesuffix("f")
    functions: dict[str, FunctionType] = {
        each.__name__: each
        for each in (
            *(*written.OWN, *written.HALF_TURNS, *written.LENGTHS),
            *(*written.WIDE, *written.OTHERS),
        )
    }
    function = functions.get(form) or functions.get(plain)
    if function is None:
        raise NotImplementedError(f"libdevice.{form} is not supported")
    own = form not in functions and function in written.OWN
    wide = function in written.WIDE
    floats = "float32" if own else "float64"

    def emit(t: Any, *values: Value) -> tuple[Value, ...]:
        b: Builder = t.b
        given = [b.cast(x, f64) if wide and x.type is f32 else x for x in values]
        types = tuple([scalar_of(cast("DType", x.type)) for x in given])
        return b.call(_imported(function, types, floats), tuple(given))

    return emit


def _imported(function: FunctionType, types: tuple[ArgType, ...], floats: str) -> Function:
    """A device function of the Python dialect, in the program's module."""

    def make() -> tuple[Module, Function]:
        from gridlane.frontends.foreign.dialect import translate_device

        module, _ = translate_device(function, types, KernelOptions(floats=floats))
        bodies = [each.body for each in module.functions.values()]
        called = {op.callee for body in bodies for op in body.walk() if isinstance(op, Call)}
        (root,) = [each for name, each in module.functions.items() if name not in called]
        return module, root

    return imported(("dialect", function.__name__, types, floats), "libdevice", make)


def _define(name: str) -> Callable[..., tensor]:
    def function(*args: Any) -> tensor:
        values = matched(*[to_tensor(each) for each in args])
        kinds = tuple([each.dtype.name for each in values])
        for form in _forms(name):
            if _parameters(form) == kinds:
                return _applied(name, form, values)
        expected = [_parameters(form) for form in _forms(name)]
        raise ValueError(f"input arg type does not match. Expect one of {expected}, got {kinds}")

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__doc__ = f"NVIDIA's {name}."
    return builtin(function)


def _applied(name: str, form: str, values: list[tensor]) -> tensor:
    result = int1 if name in _TRUTHS else None
    if form in _UNSIGNED and values[0].dtype.is_int() and not _CONVERTS.search(form):
        result = values[0].dtype
    kind = None if result is None else result.name
    build = _build(form)

    def whole(b: Builder, *given: Value) -> Value:
        made = build(b, *given)
        assert isinstance(made, Value)
        if made.type is b1:
            return made if kind == "int1" else b.cast(made, i32)
        return made if kind is None or kind == "int1" else b.cast(made, given[0].type)  # type: ignore[arg-type]  # integers

    return apply(f"libdevice.{name}", whole, values, result)


def _refuse(name: str) -> Callable[..., tensor]:
    def function(*args: Any) -> tensor:
        raise NotImplementedError(f"libdevice.{name} is not supported")

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    return builtin(function)


NAMES: dict[str, Callable[..., tensor]] = {
    **{name: _define(name) for name in (*_FORMS, *_FLOATING, *_DIRECT, *_CONVERSIONS)},
    **{name: _refuse(name) for name in _UNAVAILABLE},
}
"""The functions by name."""


def __getattr__(name: str) -> Callable[..., tensor]:
    try:
        return NAMES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
