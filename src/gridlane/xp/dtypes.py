"""The data types of elements: NumPy's dtypes, and its promotion."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from gridlane.core import dtypes
from gridlane.core.frozen import frozen
from gridlane.xp.operations.loops import promoted

NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
DTYPES: dict[str, np.dtype[Any]] = {
    **{name: np.dtype(name) for name in NAMES},
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
"""The dtypes of arrays by their names."""
KINDS: dict[str, str] = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}
"""The standard's kinds of dtypes: the letters of NumPy's kinds."""


def letter(dtype: np.dtype[Any]) -> str:
    """NumPy's letter of a dtype's kind; "f" for bfloat16."""
    return "f" if dtype == DTYPES["bfloat16"] else dtype.kind


@frozen
class FloatFacts:
    """The limits of a float type, as the array API standard names them.

    Attributes:
        bits: of an element, or of each part of a complex one.
        eps: the difference of 1 and the next larger number.
        max, min: the largest and the smallest finite number.
        smallest_normal: the least positive number of full precision.
        dtype: the real dtype.
    """

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype[Any]

    @property
    def tiny(self) -> float:
        """The least positive number of full precision, by NumPy's name."""
        return self.smallest_normal


@frozen
class IntegerFacts:
    """The limits of an integer type.

    Attributes:
        bits: of an element.
        max, min: the largest and the smallest number.
        dtype: of the elements.
    """

    bits: int
    max: int
    min: int
    dtype: np.dtype[Any]


def dtype_of(value: Any) -> np.dtype[Any]:
    """The dtype of an array or a NumPy scalar, or a dtype from what NumPy takes as one."""
    own = getattr(value, "dtype", None)
    return own if isinstance(own, np.dtype) else np.dtype(value)


def finfo(type: Any, /) -> FloatFacts:
    """The limits of a float or complex dtype, or of that of an array.

    >>> finfo(np.float32).eps
    1.1920928955078125e-07

    Raises:
        TypeError: the dtype has another kind.
    """
    dtype = dtype_of(type)
    if letter(dtype) not in "fc":
        raise TypeError(f"finfo: {dtype} is no float or complex dtype")
    facts: Any = ml_dtypes.finfo(dtype) if dtype.kind == "V" else np.finfo(dtype)
    real = facts.dtype
    eps, largest, smallest = float(facts.eps), float(facts.max), float(facts.min)
    return FloatFacts(
        8 * real.itemsize, eps, largest, smallest, float(facts.smallest_normal), np.dtype(real)
    )


def iinfo(type: Any, /) -> IntegerFacts:
    """The limits of an integer dtype, or of that of an array.

    >>> iinfo("uint8").max
    255

    Raises:
        TypeError: the dtype has another kind.
    """
    dtype = dtype_of(type)
    if dtype.kind not in "iu":
        raise TypeError(f"iinfo: {dtype} is no integer dtype")
    facts = np.iinfo(dtype)
    return IntegerFacts(8 * dtype.itemsize, int(facts.max), int(facts.min), dtype)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind, or of one of several.

    >>> isdtype(np.float32, "real floating"), isdtype(np.int8, (np.bool_, "integral"))
    (True, True)

    Raises:
        ValueError: the standard has no such kind.
        TypeError: the kind is no text, dtype or tuple of these.
    """
    own = np.dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(own, each) for each in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"isdtype: no kind {kind!r}; kinds are {', '.join(KINDS)}")
        return letter(own) in KINDS[kind]
    return own == np.dtype(kind)


def can_cast(from_: Any, to: Any, /, casting: str = "safe") -> bool:
    """Whether elements of a dtype, or of an array, convert to another one by a rule of NumPy's."""
    return np.can_cast(dtype_of(from_), np.dtype(to), casting)  # type: ignore[arg-type]


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype that NumPy 2 promotes arrays, dtypes and Python's numbers to. ``bfloat16`` is as
    float32 beside dtypes that hold none of its numbers, or that it does not hold.

    >>> result_type(np.int8, np.uint8), result_type(np.float32, 1.5)
    (dtype('int16'), dtype('float32'))
    """
    kinds = [
        type(each) if type(each) in (bool, int, float, complex) else dtype_of(each)
        for each in arrays_and_dtypes
    ]
    return promoted(tuple(kinds))


def checked(dtype: Any) -> np.dtype[Any]:
    """A dtype, in the byte order of the machine.

    Raises:
        TypeError: arrays have no such elements.
    """
    own = np.dtype(dtype).newbyteorder("=")
    if own.kind == "c" and own.itemsize <= 16:
        return own
    if dtypes.from_numpy(own) is None:
        raise TypeError(
            f"arrays have no elements of the dtype {own}; those of kernels are {', '.join(DTYPES)}"
        )
    return own
