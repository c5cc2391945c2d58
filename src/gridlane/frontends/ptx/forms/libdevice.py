"""Functions that a module declares and nothing defines, by the names of NVIDIA's libdevice.

A compiler without libdevice leaves calls of ``__nv_sinf`` and its like in the PTX. They are the
IR's functions. CUDA Math API, "libdevice User's Guide".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gridlane.core.dtypes import DType, f32, f64, i32
from gridlane.frontends.ptx.forms.functions import function
from gridlane.frontends.ptx.values import Values
from gridlane.ir.libdevice import ONE, QUICK, TWO
from gridlane.ir.op import Op
from gridlane.ir.ops import math
from gridlane.ir.values import Value

Build = Callable[..., Value]
"""Makes the result of a function, by the ``Values`` and the arguments."""
Known = tuple[tuple[DType, ...], Build]
"""The types of a function's parameters, and what makes its result, which is of the first type."""


def _op(op: type[Op]) -> Build:
    return lambda t, *values: t.emit(op(*values))


def _fma(t: Values, first: Value, second: Value, third: Value) -> Value:
    return t.b.fma(first, second, third)


def _table() -> dict[str, Known]:
    functions: dict[str, Known] = {}
    for suffix, kind in (("f", f32), ("", f64)):
        functions |= {f"__nv_{name}{suffix}": ((kind,), _op(op)) for name, op in ONE.items()}
        functions |= {f"__nv_{name}{suffix}": ((kind, kind), _op(op)) for name, op in TWO.items()}
        functions[f"__nv_ldexp{suffix}"] = (kind, i32), _op(math.Ldexp)
        functions[f"__nv_fma{suffix}"] = (kind, kind, kind), _fma
    functions |= {f"__nv_fast_{name}f": functions[f"__nv_{name}f"] for name in QUICK}
    return functions


KNOWN = _table()
"""The functions by name."""


def _declare(name: str, params: tuple[DType, ...], build: Build) -> None:
    @function(name)
    def call(t: Values, arguments: Sequence[Value]) -> Sequence[Value]:
        if [each.type.size for each in arguments] != [each.size for each in params]:
            wanted = ", ".join(map(str, params))
            t.fail(f"{name} takes {wanted} and returns {params[0]}; it is declared else")
        typed = (t.as_type(value, dtype) for value, dtype in zip(arguments, params, strict=True))
        return (build(t, *typed),)


for _name, (_params, _build) in KNOWN.items():
    _declare(_name, _params, _build)
