"""``numba.cuda.libdevicefuncs``: the signatures of ``cuda.libdevice``."""

from __future__ import annotations

from typing import Any, NamedTuple

from gridlane.core.argtypes import ArgType, Signature, TupleType, float32, float64, int16, int32
from gridlane.core.argtypes import int64 as int64
from gridlane.core.argtypes import none as void
from gridlane.frontends.python.libdevice_stubs import SIGNATURES

_TYPES = {"d": float64, "f": float32, "l": int64, "i": int32, "h": int16}


class arg(NamedTuple):  # noqa: N801  # numba's name
    """A parameter of the C function; results beyond the first are pointers."""

    name: str
    ty: ArgType
    is_ptr: bool


def _function(signature: str) -> tuple[ArgType, list[arg]]:
    results, _, params = signature.partition(":")
    given = [arg("xyz"[n], _TYPES[letter], False) for n, letter in enumerate(params)]
    first, pointers = _TYPES[results[0]], results[1:]
    if results in ("dd", "ff"):  # both by pointers, but for modf's
        return first, [*given, arg("p", _TYPES[pointers], True)]
    return first, [*given, *[arg("p", _TYPES[letter], True) for letter in pointers]]


functions = {f"__nv_{name}": _function(signature) for name, signature in SIGNATURES.items()}


def create_signature(retty: ArgType, args: Any) -> Signature:
    """The signature in Python of a C function: what its pointers receive is returned, too."""
    returned = [item.ty for item in args if item.is_ptr]
    if retty != void:
        returned.insert(0, retty)
    result = TupleType(tuple(returned)) if len(returned) > 1 else returned[0]
    return Signature(result, tuple(item.ty for item in args if not item.is_ptr))


__all__ = ["arg", "create_signature", "functions"]
