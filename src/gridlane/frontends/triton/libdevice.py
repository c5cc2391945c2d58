"""``tl.extra.libdevice``: NVIDIA's functions, by the types of their arguments.

They are those of ``cuda.libdevice``: ops, or functions of the Python dialect, whose IR joins the
program's module.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from gridlane.core.dtypes import b1, i32
from gridlane.frontends.foreign.libdevice import NORMS, ORDERS_OF_I, SIGNATURES, build_of
from gridlane.frontends.triton.context import Build, builtin
from gridlane.frontends.triton.elementwise import apply
from gridlane.frontends.triton.importing import imported
from gridlane.frontends.triton.numbers import to_tensor
from gridlane.frontends.triton.shapes import matched
from gridlane.frontends.triton.types import int1
from gridlane.frontends.triton.values import tensor
from gridlane.ir.builder import Builder
from gridlane.ir.values import Value

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
    *ORDERS_OF_I,
    *NORMS,
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


def _forms(name: str) -> tuple[str, ...]:
    return _FORMS.get(name) or ((f"{name}f", name) if name in _FLOATING else (name,))


def _parameters(form: str) -> tuple[str, ...]:
    """The names of the types that a function takes."""
    letters = SIGNATURES.get(form, _DOUBLE_SUM).partition(":")[2]
    sign = "u" if form in _UNSIGNED else ""
    return tuple([sign + _KINDS[each] if each in "ilh" else _KINDS[each] for each in letters])


def _build(form: str) -> Build:
    """The IR of a function on values of its parameters' types."""
    build = build_of(form, imported)
    return lambda b, *values: build(b, *values)[0]


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
