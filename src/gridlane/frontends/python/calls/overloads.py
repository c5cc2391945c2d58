"""The declared signature that a call of a device function selects, by numba's order: fewest lossy
conversions, then fewest safe ones, then fewest promotions, then the first declared."""

from __future__ import annotations

import numpy as np

from gridlane.core import argtypes
from gridlane.core.errors import TypingError
from gridlane.frontends.python.device_function import DeviceFunction
from gridlane.frontends.python.operands import Operand
from gridlane.frontends.python.results import result_type
from gridlane.frontends.python.specs import FragmentSpec, spec_of
from gridlane.frontends.python.translator import Translator

EXACT, PROMOTE, SAFE, UNSAFE = range(4)


def choose_signature(
    t: Translator, device: DeviceFunction, operands: list[Operand]
) -> argtypes.Signature | None:
    """The signature for a call; None when none is declared.

    Raises:
        TypingError: the operands convert to none of them.
    """
    if not device.signatures:
        return None
    given = [_type_of(operand) for operand in operands]
    best, best_cost = None, None
    for signature in device.signatures:
        cost = _cost(given, signature.args)
        if cost is not None and (best_cost is None or cost < best_cost):
            best, best_cost = signature, cost
    if best is None:
        shown = ", ".join(operand.type_name for operand in operands)
        declared = "; ".join(str(signature.args) for signature in device.signatures)
        raise t.fail(
            TypingError,
            f"Invalid use of type {device.py_func.__name__}() with parameters ({shown}): it is "
            f"declared for {declared}",
        )
    return best


def _type_of(operand: Operand) -> argtypes.ArgType | None:
    spec = spec_of(operand)
    return None if spec is None or isinstance(spec, FragmentSpec) else result_type(spec)


def _cost(
    given: list[argtypes.ArgType | None], wanted: tuple[argtypes.ArgType, ...]
) -> tuple[int, int, int] | None:
    """(lossy, safe, promoting) conversions; None when one is impossible."""
    if len(given) != len(wanted):
        return None
    kinds = [_conversion(own, want) for own, want in zip(given, wanted, strict=True)]
    if None in kinds:
        return None
    return kinds.count(UNSAFE), kinds.count(SAFE), kinds.count(PROMOTE)


def _conversion(own: argtypes.ArgType | None, want: argtypes.ArgType) -> int | None:
    if own == want:
        return EXACT
    if isinstance(want, argtypes.OptionalType):
        return _to_optional(own, want)
    if isinstance(own, argtypes.OptionalType):
        return None if _conversion(own.type, want) is None else UNSAFE
    if isinstance(own, argtypes.ArrayType) and isinstance(want, argtypes.ArrayType):
        same = own.element == want.element and own.ndim == want.ndim
        return SAFE if same and want.layout in ("A", own.layout) else None
    if isinstance(want, argtypes.ComplexType):
        return SAFE if isinstance(own, argtypes.ScalarType | argtypes.ComplexType) else None
    if not isinstance(own, argtypes.ScalarType) or not isinstance(want, argtypes.ScalarType):
        return None
    a, b = own.dtype, want.dtype
    if a.kind is b.kind and a.bits < b.bits:
        return PROMOTE
    return SAFE if np.can_cast(a.numpy, b.numpy, "safe") else UNSAFE


def _to_optional(own: argtypes.ArgType | None, want: argtypes.OptionalType) -> int | None:
    """The conversion to a value that may be None: at the least a promotion."""
    if isinstance(own, argtypes.NoneType):
        return PROMOTE
    inner = own.type if isinstance(own, argtypes.OptionalType) else own
    inner_conversion = _conversion(inner, want.type)
    return None if inner_conversion is None else max(inner_conversion, PROMOTE)
