"""Signatures: parsed from text or objects, and resolved for given arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace
from enum import IntEnum
from typing import Any

import numpy as np

from gridlane.core import argtypes, numpy_types
from gridlane.core.argtypes import (
    ArgType,
    ArrayType,
    ComplexType,
    CPointerType,
    EnumType,
    NestedArrayType,
    ScalarType,
    Signature,
    TupleType,
)
from gridlane.core.errors import ArgumentError
from gridlane.cuda.types import SIGNATURE_NAMES

Types = tuple[ArgType, ...]
SignatureLike = str | Signature | tuple[Any, ...]
"""The forms of one signature in ``cuda.jit``; items of a tuple may be numpy's types as well."""


def is_signature(value: Any) -> bool:
    """Whether an argument of ``cuda.jit`` is a signature: text, a Signature, a tuple of types."""
    return isinstance(value, (str, Signature, tuple))


def parse(signature: Any) -> Signature:
    """Parse a Signature from text, from a tuple of types, or from a Signature.

    The return type of ``"(i4, f4[:])"`` is void for a kernel and open for a device function, which
    is written as ``None``.

    >>> str(parse("void(float32[:, ::1], i8)"))
    'none(array(float32, 2d, C), int64)'
    """
    if isinstance(signature, str):
        signature = _Evaluator(signature).value()
    if isinstance(signature, Signature):
        return replace(signature, args=tuple(_checked(arg) for arg in signature.args))
    if isinstance(signature, ArgType):  # "(i4)" is i4 in parentheses, as in Python
        signature = (signature,)
    if isinstance(signature, (tuple, list)):
        return Signature(None, tuple(map(_checked, signature)))  # type: ignore[arg-type]
    raise TypeError(f"invalid signature: {signature!r} (type {type(signature).__name__})")


def _checked(arg: Any) -> ArgType:
    if isinstance(arg, NestedArrayType):
        axes = ", ".join(":" * len(arg.shape))
        raise TypeError(
            f"{arg.element}{list(arg.shape)} in a signature: only a field of a record has a fixed "
            f"shape; an argument is {arg.element}[{axes}]"
        )
    if isinstance(arg, ArgType):
        return arg
    try:
        return numpy_types.from_numpy(np.dtype(arg))
    except TypeError:
        raise TypeError(f"invalid type in signature: {arg!r}") from None


class _Evaluator:
    """Evaluates a signature's text: names, calls, tuples and subscripts with slices."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self.tree = ast.parse(text.strip(), mode="eval").body
        except SyntaxError as error:
            raise TypeError(f"signature {text!r}: {error.msg}") from None

    def value(self) -> Any:
        """The signature or tuple of types that the text denotes."""
        return self._evaluate(self.tree)

    def _evaluate(self, node: ast.expr) -> Any:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise TypeError(f"signature {self.text!r}: cannot read {ast.unparse(node)!r}")
        return method(node)

    def _name(self, node: ast.Name) -> Any:
        if node.id not in SIGNATURE_NAMES:
            raise TypeError(f"signature {self.text!r}: there is no type {node.id!r}")
        return SIGNATURE_NAMES[node.id]

    def _attribute(self, node: ast.Attribute) -> Any:
        # numba.float32, types.float32, nb.types.float32: the last name decides.
        return self._name(ast.Name(node.attr))

    def _constant(self, node: ast.Constant) -> Any:
        return argtypes.none if node.value is None else node.value

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        return ast.literal_eval(node)

    def _tuple(self, node: ast.Tuple) -> Any:
        return tuple(map(self._evaluate, node.elts))

    def _list(self, node: ast.List) -> Any:
        return list(map(self._evaluate, node.elts))

    def _slice(self, node: ast.Slice) -> Any:
        step = None if node.step is None else self._evaluate(node.step)
        return slice(None, None, step)

    def _subscript(self, node: ast.Subscript) -> Any:
        return self._evaluate(node.value)[self._evaluate(node.slice)]

    def _call(self, node: ast.Call) -> Any:
        function = self._evaluate(node.func)
        return function(*map(self._evaluate, node.args))


# --- conversions ---


class Conversion(IntEnum):
    """How well an argument fits a parameter; lower is better."""

    EXACT = 0
    PROMOTE = 1
    SAFE = 2
    UNSAFE = 3


def conversion(have: ArgType, want: ArgType) -> Conversion | None:
    """The conversion of an argument of type ``have`` to a parameter of type ``want``, or None.

    Integers accept no floats, reals no complex numbers, arrays only their own element type and
    number of dimensions, in their layout or any.
    """
    if have == want:
        return Conversion.EXACT
    if isinstance(want, ArrayType):
        return _array_conversion(have, want)
    if isinstance(have, TupleType) and isinstance(want, TupleType):
        if len(have.items) != len(want.items):
            return None
        ranks = [conversion(a, b) for a, b in zip(have.items, want.items)]
        return None if None in ranks else max(ranks, default=Conversion.EXACT)  # type: ignore  # no None is left
    if isinstance(have, EnumType):
        return None if have.number is None else conversion(have.number, want)
    if isinstance(want, CPointerType):  # an address is a number
        is_number = isinstance(have, ScalarType) and have.dtype.is_integer
        return Conversion.SAFE if is_number else None
    numbers = (ScalarType, ComplexType)
    if not isinstance(have, numbers) or not isinstance(want, numbers):
        return None
    a, b = have.numpy, want.numpy
    if _rank(a) > _rank(b):
        return None
    if np.can_cast(a, b, "safe"):
        return Conversion.PROMOTE if a.kind == b.kind else Conversion.SAFE
    return Conversion.UNSAFE


def _rank(dtype: np.dtype) -> int:
    """The kind of a number, within which types convert: integers and bools, reals, complex."""
    return {"b": 0, "i": 0, "u": 0, "c": 2}.get(dtype.kind, 1)


def as_other_sign(have: ArgType, want: ArgType) -> ArgType:
    """An array of integers as one with the wanted sign: ``uint32[:]`` seen as ``int32[:]``.

    >>> from gridlane.core.argtypes import float32, int32, uint8, uint32
    >>> str(as_other_sign(uint32[:], int32[:])), str(as_other_sign(uint8[:], int32[:]))
    ('array(int32, 1d, A)', 'array(uint8, 1d, A)')
    """
    if not isinstance(have, ArrayType) or not isinstance(want, ArrayType):
        return have
    a, b = have.element, want.element
    if not isinstance(a, ScalarType) or not isinstance(b, ScalarType):
        return have
    both = a.numpy.kind in "iu" and b.numpy.kind in "iu"
    return replace(have, element=b) if both and a.numpy.itemsize == b.numpy.itemsize else have


def _array_conversion(have: ArgType, want: ArrayType) -> Conversion | None:
    if not isinstance(have, ArrayType):
        return None
    same = have.element == want.element and have.ndim == want.ndim
    layout = want.layout in ("A", have.layout) or _one_axis(have, want)
    if not (same and layout) or (have.readonly and not want.readonly):
        return None
    return Conversion.SAFE


def _one_axis(have: ArrayType, want: ArrayType) -> bool:
    """A contiguous 1-D array is in C and in Fortran order."""
    return have.ndim <= 1 and have.layout != "A"


def writable(have: ArgType) -> ArgType:
    """A type with all of its arrays writable."""
    if isinstance(have, TupleType):
        return replace(have, items=tuple(map(writable, have.items)))
    return replace(have, readonly=False) if isinstance(have, ArrayType) else have


def as_readonly(want: ArgType, have: ArgType) -> ArgType:
    """``want`` with those arrays read-only that are read-only in ``have``, which converts to it."""
    if isinstance(want, TupleType) and isinstance(have, TupleType):
        return replace(want, items=tuple(map(as_readonly, want.items, have.items)))
    if isinstance(want, ArrayType) and isinstance(have, ArrayType) and have.readonly:
        return replace(want, readonly=True)
    return want


def resolve(name: str, candidates: Iterable[Types], have: Types) -> Types:
    """The one of ``candidates`` that fits arguments of types ``have`` best.

    Raises:
        ArgumentError: none fits, or two fit equally well.
    """
    best: list[Types] = []
    best_score: tuple[int, ...] | None = None
    for want in candidates:
        if len(want) != len(have):
            continue
        ranks = [conversion(a, b) for a, b in zip(have, want)]
        if None in ranks:
            continue
        score = tuple(ranks.count(rank) for rank in (3, 2, 1))  # type: ignore[arg-type]
        if best_score is None or score < best_score:
            best, best_score = [want], score
        elif score == best_score:
            best.append(want)
    if not best:
        shown = ", ".join(map(str, have))
        raise ArgumentError(f"No matching definition for argument type(s) {shown} of {name}")
    if len(best) > 1:
        lines = "\n".join(f"{_listed(types)} -> none" for types in best)
        raise ArgumentError(f"Ambiguous overloading for {name} {_listed(have)}:\n{lines}")
    return best[0]


def _listed(types: Types) -> str:
    return "(" + ", ".join(map(_spelled, types)) + ("," if len(types) == 1 else "") + ")"


def _spelled(type_: ArgType) -> str:
    """A type in the spelling of numba's messages."""
    if isinstance(type_, ArrayType):
        return (
            f"Array({type_.element}, {type_.ndim}, {type_.layout!r}, {type_.readonly}, "
            "aligned=True)"
        )
    return str(type_)
