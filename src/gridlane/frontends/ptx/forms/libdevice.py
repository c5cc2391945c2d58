"""Functions that a module declares and nothing defines, by the names of NVIDIA's libdevice.

A compiler without libdevice leaves calls of ``__nv_sinf`` and its like in the PTX. They are the
IR's functions, or those of the Python dialect. CUDA Math API, "libdevice User's Guide".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from gridlane.core.dtypes import DType, b1, f32, f64, i16, i32, i64
from gridlane.frontends.foreign.joining import Make, joined
from gridlane.frontends.foreign.libdevice import SIGNATURES, build_of
from gridlane.frontends.ptx.forms.conversion import of_nan
from gridlane.frontends.ptx.forms.functions import function
from gridlane.frontends.ptx.values import Values
from gridlane.ir.libdevice import ONE, QUICK, TWO
from gridlane.ir.op import Op
from gridlane.ir.ops import math
from gridlane.ir.values import Function, Module, Value

Build = Callable[..., Value]
"""Makes the result of a function, by the ``Values`` and the arguments."""
Known = tuple[DType, tuple[DType, ...], Build]
"""The types of a function's result and parameters, and what makes the result."""
_CONVERTS = re.compile(r"(double|float)2u?(int|ll)_r[ndzu]|llr(int|ound)f?")
_TYPES = {"d": f64, "f": f32, "l": i64, "i": i32, "h": i16}


def _op(op: type[Op]) -> Build:
    return lambda t, *values: t.emit(op(*values))


def _fma(t: Values, first: Value, second: Value, third: Value) -> Value:
    return t.b.fma(first, second, third)


def _written(name: str, t: Values, *values: Value) -> Value:
    """A call of a function of the Python dialect."""
    made = t.variables.made

    def join(key: tuple[object, ...], prefix: str, make: Make) -> Function:
        return joined(key, prefix, make, made, t.variables.whole.joined, partial(_unique, made))

    value = build_of(name, join)(t.b, *values)[0]
    return t.b.cast(value, i32) if value.type is b1 else value


def _converted(name: str, t: Values, value: Value) -> Value:
    """The integer of a float as ``cvt`` converts it; the dialect's of a NaN is 0."""
    return of_nan(t.b, value, _written(name, t, value))


def _unique(module: Module, wanted: str) -> str:
    name, number = wanted, 1
    while name in module.functions:
        number += 1
        name = f"{wanted}.{number}"
    return name


def _ops() -> dict[str, Known]:
    functions: dict[str, Known] = {}
    for suffix, kind in (("f", f32), ("", f64)):
        for table, params in ((ONE, (kind,)), (TWO, (kind, kind))):
            functions |= {
                f"__nv_{name}{suffix}": (kind, params, _op(op)) for name, op in table.items()
            }
        functions[f"__nv_ldexp{suffix}"] = kind, (kind, i32), _op(math.Ldexp)
        functions[f"__nv_fma{suffix}"] = kind, (kind, kind, kind), _fma
    return functions | {f"__nv_fast_{name}f": functions[f"__nv_{name}f"] for name in QUICK}


def _others() -> dict[str, Known]:
    functions: dict[str, Known] = {}
    for name, signature in SIGNATURES.items():
        result, _, params = signature.partition(":")
        if len(result) == 1 and f"__nv_{name}" not in OPS:  # with more it has pointers to them
            types = tuple([_TYPES[letter] for letter in params])
            make = _converted if _CONVERTS.fullmatch(name) else _written
            functions[f"__nv_{name}"] = _TYPES[result], types, partial(make, name)
    return functions


OPS = _ops()
"""The functions that are ops, by name."""
OTHERS = _others()
"""The functions that are several ops, or written in the Python dialect."""


def _declare(name: str, result: DType, params: tuple[DType, ...], build: Build) -> None:
    @function(name)
    def call(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
        if [each.type.size for each in arguments] != [each.size for each in params]:
            wanted = ", ".join(map(str, params))
            t.fail(f"{name} takes {wanted} and returns {result}; it is declared else")
        typed = (t.as_type(value, dtype) for value, dtype in zip(arguments, params, strict=True))
        return (build(t, *typed),)


for _name, (_result, _params, _build) in (OPS | OTHERS).items():
    _declare(_name, _result, _params, _build)
