"""NVIDIA's functions on values of the IR, for other frontends: ops, or functions that are written
in the Python dialect."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any, cast

from gridlane.core.argtypes import ArgType, scalar_of
from gridlane.core.dtypes import DType, b1, f32, f64
from gridlane.core.options import KernelOptions
from gridlane.frontends.foreign.joining import Make
from gridlane.frontends.python.libdevice_stubs import SIGNATURES as OF_DIALECT
from gridlane.ir.builder import Builder
from gridlane.ir.ops.control import Call
from gridlane.ir.values import Function, Module, Value

_WIDTHS = (("f", "f"), ("", "d"))
ORDERS_OF_I = ("cyl_bessel_i0", "cyl_bessel_i1")
NORMS = {"rhypot": 2, "norm3d": 3, "rnorm3d": 3, "norm4d": 4, "rnorm4d": 4}
"""Functions of so many coordinates."""
SIGNATURES: dict[str, str] = OF_DIALECT | {
    **{f"{name}{kind}": f"{of}:{of}" for name in ORDERS_OF_I for kind, of in _WIDTHS},
    **{f"{name}{kind}": f"{of}:{of * n}" for name, n in NORMS.items() for kind, of in _WIDTHS},
    **{f"dsub_{way}": "d:dd" for way in ("rn", "rz", "rd", "ru")},
    "uint_as_float": "f:i",
    "float_as_uint": "i:f",
}
"""Those of ``cuda.libdevice``, and of functions that it has not."""
_SAME = {"uint_as_float": "int_as_float", "float_as_uint": "float_as_int"}

Join = Callable[[tuple[Any, ...], str, Make], Function]
"""What has a function join the caller's module: its key, the prefix of its name, and what makes
it."""


def build_of(name: str, join: Join) -> Callable[..., tuple[Value, ...]]:
    """What builds a function's results, by a builder and values of its parameters' types. Truth
    values stay as they are.

    Raises:
        NotImplementedError: there is none.
    """
    from gridlane.frontends.foreign.dialect import BUILDS, TYPES

    results, _, params = SIGNATURES[name].partition(":")
    emit = BUILDS.get(_SAME.get(name, name)) or _of_dialect(name, join)

    def build(b: Builder, *values: Value) -> tuple[Value, ...]:
        given = [b.cast(value, TYPES[letter]) for value, letter in zip(values, params, strict=True)]
        made: tuple[Value, ...] = emit(cast("Any", SimpleNamespace(b=b)), *given)
        pairs = zip(made, results, strict=True)
        return tuple([x if x.type is b1 else b.cast(x, TYPES[letter]) for x, letter in pairs])

    return build


def _of_dialect(name: str, join: Join) -> Callable[..., tuple[Value, ...]]:
    """A function that is written in the Python dialect."""
    from gridlane.frontends.foreign.dialect import LENGTHS
    from gridlane.frontends.foreign.dialect import libdevice_functions as written

    own = (*written.OWN, *written.HALF_TURNS, *LENGTHS)
    functions: dict[str, FunctionType] = {
        each.__name__: each for each in (*own, *written.WIDE, *written.OTHERS)
    }
    function = functions.get(name) or functions.get(name.removesuffix("f"))
    if function is None:
        raise NotImplementedError(f"libdevice.{name} is not supported")
    wide = function in written.WIDE
    floats = "float32" if name not in functions and function in written.OWN else "float64"

    def emit(t: Any, *values: Value) -> tuple[Value, ...]:
        b: Builder = t.b
        given = tuple([b.cast(x, f64) if wide and x.type is f32 else x for x in values])
        types = tuple([scalar_of(cast("DType", x.type)) for x in given])
        key = "dialect", function.__name__, types, floats
        return b.call(join(key, "libdevice", lambda: _made(function, types, floats)), given)

    return emit


def _made(
    function: FunctionType, types: tuple[ArgType, ...], floats: str
) -> tuple[Module, Function]:
    """A device function of the Python dialect, in a module of its own."""
    from gridlane.frontends.foreign.dialect import translate_device

    module, _ = translate_device(function, types, KernelOptions(floats=floats))
    assert not module.errors and not module.globals, function.__name__
    bodies = [each.body for each in module.functions.values()]
    called = {op.callee for body in bodies for op in body.walk() if isinstance(op, Call)}
    (root,) = [each for name, each in module.functions.items() if name not in called]
    return module, root
