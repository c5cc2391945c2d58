"""Rules of dtypes: the loop that an operation has for those of its operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from gridlane.xp.operations.record import Loop, Types

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
BOOL, INT32, FLOAT32 = np.dtype(bool), np.dtype(np.int32), np.dtype(np.float32)
_KINDS = {bool: np.bool_(), int: 0, float: 0.0, complex: 0j}


def loops_of(ufunc: np.ufunc) -> Types:
    """The loops of a ufunc of NumPy's, with NumPy 2's promotion of Python's numbers. ``bfloat16``
    has those of float32, and Python's floats become ``bfloat16`` beside it.

    >>> loops_of(np.add)((np.dtype("i1"), float))
    Loop(inputs=(dtype('float64'), dtype('float64')), outputs=(dtype('float64'),))
    """

    def types(operands: tuple[Any, ...]) -> Loop:
        kinds = [BOOL if each is bool else each for each in operands]
        is_narrow = BFLOAT16 in kinds and _common(kinds) == BFLOAT16
        if BFLOAT16 in kinds:
            kinds = [FLOAT32 if each == BFLOAT16 else each for each in kinds]
        resolved = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))
        if is_narrow:
            resolved = tuple([BFLOAT16 if each == FLOAT32 else each for each in resolved])
        if any(each.char in "gGOMm" for each in resolved):
            raise TypeError(f"{ufunc.__name__} has no loop for {_listed(operands)}")
        return Loop(resolved[: ufunc.nin], resolved[ufunc.nin :])

    return types


def _common(kinds: list[Any]) -> np.dtype[Any]:
    """The dtype of operands together; Python's numbers have no part in it. ``bfloat16`` is as
    float32 beside dtypes that hold none of its numbers, or that it does not hold."""
    dtypes = [each for each in kinds if isinstance(each, np.dtype)]
    try:
        return np.result_type(*dtypes)
    except TypeError:
        return np.result_type(*[FLOAT32 if each == BFLOAT16 else each for each in dtypes])


def _listed(operands: tuple[Any, ...]) -> str:
    return ", ".join(
        each.name if isinstance(each, np.dtype) else f"Python's {each.__name__}"
        for each in operands
    )


def promoted(operands: tuple[Any, ...]) -> np.dtype[Any]:
    """NumPy's common dtype of operands; Python's numbers are weak."""
    if BFLOAT16 in operands:
        if _common(list(operands)) == BFLOAT16 and complex not in operands:
            return BFLOAT16
        operands = tuple([FLOAT32 if each == BFLOAT16 else each for each in operands])
    return np.result_type(*[_KINDS.get(each, each) for each in operands])


def floating(name: str, *, results: int = 1, with_complex: bool = False) -> Types:
    """Operands and results of one float dtype, as NumPy's functions of floats have it: that of the
    operands, or for integers the one that holds their width.

    >>> floating("erf")((np.dtype("i2"),))
    Loop(inputs=(dtype('float32'),), outputs=(dtype('float32'),))
    """

    def types(operands: tuple[Any, ...]) -> Loop:
        dtype = promoted(operands)
        if dtype.kind in "biu":
            dtype = np.dtype(f"f{min(8, 2 * dtype.itemsize)}")
        if not (dtype.kind == "f" or dtype == BFLOAT16 or (with_complex and dtype.kind == "c")):
            raise TypeError(f"{name} has no loop for {_listed(operands)}")
        return Loop((dtype,) * len(operands), (dtype,) * results)

    return types


def integers(name: str) -> Types:
    """Operands and a result of one integer dtype."""

    def types(operands: tuple[Any, ...]) -> Loop:
        dtype = promoted(operands)
        if dtype.kind not in "iu":
            raise TypeError(f"{name} has no loop for {_listed(operands)}")
        return Loop((dtype,) * len(operands), (dtype,))

    return types


def numbers(result: Callable[[np.dtype[Any]], np.dtype[Any]] = lambda dtype: dtype) -> Types:
    """Operands of one dtype, of any kind, and a result whose dtype follows from it."""

    def types(operands: tuple[Any, ...]) -> Loop:
        dtype = promoted(operands)
        return Loop((dtype,) * len(operands), (result(dtype),))

    return types


def reals(name: str) -> Types:
    """Operands and a result of one dtype of integers or floats."""

    def types(operands: tuple[Any, ...]) -> Loop:
        dtype = promoted(operands)
        if dtype.kind in "bc":
            raise TypeError(f"{name} has no loop for {_listed(operands)}")
        return Loop((dtype,) * len(operands), (dtype,))

    return types


def part(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the parts of complex numbers; a real one as it is.

    >>> part(np.dtype(np.complex64))
    dtype('float32')
    """
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
