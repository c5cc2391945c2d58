"""Causes of float64 in a kernel, as the typing rules report them.

The translator records them when it types an expression, if requested; ``explain`` keeps those that
remain in the IR.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gridlane.core.argtypes import scalar_of
from gridlane.core.dtypes import DType, f64
from gridlane.core.frozen import frozen
from gridlane.core.source import Loc
from gridlane.frontends.python import promotion
from gridlane.ir.values import Value

OPTION = 'use floats="float32"'


@frozen
class Cause:
    """The cause of a float64 value.

    Attributes:
        place: the expression.
        reason: the rule that made it float64, with the types that it met.
        instead: what to write.
        value: the number that it is about; None for what the place's ops compute.
        asked: the source names float64.
        joins: it is about a variable at a join of paths, which has no op of its own.
    """

    place: Loc
    reason: str
    instead: str
    value: Value | None = None
    asked: bool = False
    joins: bool = False


def literal(place: Loc, number: Any, value: Value) -> Cause:
    """A literal number."""
    kind, narrow = _KINDS[isinstance(number, complex)]
    instead = f"write {narrow}({number!r}), or {OPTION}"
    return Cause(place, f"the literal {number!r} is {kind}", instead, value)


def captured(place: Loc, number: Any, value: Value) -> Cause:
    """A number from around the kernel: Python's, or numpy's, which has its type from there."""
    kind, narrow = _KINDS[isinstance(number, complex)]
    if isinstance(number, np.generic):
        shown = number.item()
        reason = f"the captured number is numpy's {kind}, {shown!r}"
        return Cause(place, reason, f"capture np.{narrow}({shown!r})", value, asked=True)
    instead = f"capture np.{narrow}({number!r}), or {OPTION}"
    return Cause(place, f"the captured number {number!r} is {kind}", instead, value)


_KINDS = {False: ("float64", "float32"), True: ("complex128", "complex64")}


def conversion(place: Loc, kind: str, value: Value) -> Cause:
    """``float64(x)`` and kin."""
    narrow = _KINDS[kind == "complex128"][1]
    return Cause(
        place, f"this is a conversion to {kind}", f"write {narrow}(...)", value, asked=True
    )


def promoted(
    place: Loc, rule: Callable[..., DType], types: tuple[DType, ...], callee: str
) -> Cause:
    """A rule of promotion that gave float64 for other types. ``callee``: what is called, where the
    rule is of a function."""
    names = [scalar_of(kind).name for kind in types]
    integers = [name for name, kind in zip(names, types, strict=True) if not kind.is_float]
    instead = f"write float32(...) around the {integers[0]}, or {OPTION}" if integers else OPTION
    if rule is promotion.widest:
        return Cause(place, f"{callee} of {names[0]} is computed in float64", OPTION)
    if rule is promotion.division and len(integers) == 2:
        return Cause(place, f"true division of {names[0]} by {names[1]} gives float64", instead)
    if rule in _OF_FUNCTIONS:
        return Cause(place, f"{callee} of {' and '.join(names)} gives float64", instead)
    if len(names) == 1:
        return Cause(place, f"{names[0]} as a complex number is complex128", instead)
    return Cause(place, f"{names[0]} with {names[1]} gives float64", instead)


_OF_FUNCTIONS = (
    promotion.math_power, promotion.math_pair, promotion.math_floats, promotion.math_narrow,
    promotion.floating, promotion.floating_without_half, promotion.numpy_floating,
    promotion.numpy_floating_pair, promotion.numpy_pair,
)  # fmt: skip


def joined(place: Loc, name: str, types: tuple[DType, ...]) -> Cause:
    """A variable, or a result, of two types."""
    kinds = " and ".join([scalar_of(kind).name for kind in types])
    instead = f"make it float32 on both, or {OPTION}"
    reason = f"{name} is {kinds} on two paths, which join as float64"
    return Cause(place, reason, instead, joins=True)


def is_double(value: Value) -> bool:
    """Whether a value is a float64."""
    return value.type is f64
