"""The operations of the table as functions of arrays, with NumPy's parameters of ufuncs."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gridlane.xp import dtypes, protocols, transport, views
from gridlane.xp.applying import NUMBERS, broadcast, cast, loop_of
from gridlane.xp.arrays import Array, called
from gridlane.xp.creation import asarray
from gridlane.xp.indexing import assign
from gridlane.xp.operands import of_array
from gridlane.xp.operations import OPERATIONS
from gridlane.xp.operations.record import Operation

_PARAMETERS = {1: ("x",), 2: ("x1", "x2"), 3: ("x1", "x2", "x3")}
_NAMED = {"where": ("condition", "x1", "x2")}
"""The parameters of operations that the array API standard names otherwise."""
_RANKS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
"""The order of kinds of dtypes: numbers of one kind are none of a lower kind."""


@cache
def function(name: str) -> Callable[..., Any]:
    """The function of an operation."""
    operation = OPERATIONS[name]

    def apply(
        *operands: Any,
        out: Any = None,
        where: Any = True,
        dtype: Any = None,
        casting: str = "same_kind",
    ) -> Any:
        if len(operands) > operation.arity and out is None:  # NumPy's results by position
            operands, out = operands[: operation.arity], operands[operation.arity :]
        if len(operands) != operation.arity:
            raise TypeError(f"{name} takes {operation.arity} operands, not {len(operands)}")
        if dtype is not None or casting != "same_kind":
            wanted = None if dtype is None else dtypes.checked(dtype)
            operands = _converted(operation, operands, wanted, casting)
        result = called(name, *operands)
        if result is NotImplemented:
            _refuse(name, operands)
        if out is None and where is True:
            return result
        return _written(name, result, out, where, casting)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = getattr(operation, "summary", "") or None
    apply.__signature__ = _signature(operation)  # type: ignore[attr-defined]  # read by inspect
    if operation.arity == 2:
        for method in protocols.METHODS:
            setattr(apply, method, _method(name, method))
    return apply


def _method(name: str, method: str) -> Callable[..., Any]:
    """A method of ufuncs, as ``add.reduce``."""

    def call(*operands: Any, **options: Any) -> Any:
        protocols.refuse_hosts(f"{name}.{method}", operands)
        return protocols.by_method(name, method, operands, options)

    call.__name__ = method
    call.__qualname__ = f"{name}.{method}"
    return call


def parameters_of(operation: Operation) -> tuple[str, ...]:
    """The names of an operation's operands."""
    arity = operation.arity
    return _NAMED.get(operation.name) or _PARAMETERS.get(arity) or tuple("abcdefgh"[:arity])


def _signature(operation: Operation) -> inspect.Signature:
    kind = inspect.Parameter
    defaults = {"out": None, "where": True, "dtype": None, "casting": "same_kind"}
    return inspect.Signature(
        [
            *[kind(each, kind.POSITIONAL_ONLY) for each in parameters_of(operation)],
            *[kind(each, kind.KEYWORD_ONLY, default=value) for each, value in defaults.items()],
        ]
    )


def _refuse(name: str, operands: tuple[Any, ...]) -> None:
    protocols.refuse_hosts(name, operands)
    kinds = ", ".join(type(each).__name__ for each in operands)
    raise TypeError(
        f"{name}: operands are arrays of gridlane.xp and Python's numbers, not {kinds}; copy other "
        "arrays with xp.asarray"
    )


def _converted(
    operation: Operation, operands: tuple[Any, ...], dtype: np.dtype[Any] | None, casting: str
) -> tuple[Any, ...]:
    """The operands in the dtypes of a loop: the one whose first result has a dtype, if that is
    stated.

    Raises:
        TypeError: there is no such loop, or the rule of casts forbids an operand's conversion.
        ValueError: there is no such rule.
    """
    name = operation.name
    converted: list[Any] = []
    if not all(isinstance(each, (Array, np.generic, *NUMBERS)) for each in operands):
        _refuse(name, operands)
    is_typed = any(isinstance(each, (Array, np.generic)) for each in operands)
    for each, wanted in zip(operands, _inputs(operation, operands, dtype), strict=True):
        if not isinstance(each, (Array, np.generic)):
            if casting != "unsafe" and _rank(each) > _RANKS[dtypes.letter(wanted)]:
                raise TypeError(f"{name}: cannot cast {each!r} to {wanted} with rule {casting!r}")
            converted.append(each if is_typed else wanted.type(each))
            continue
        if not np.can_cast(each.dtype, wanted, casting):  # type: ignore[arg-type]  # NumPy checks it
            raise TypeError(
                f"Cannot cast {name} input from {each.dtype} to {wanted} with casting rule "
                f"{casting!r}"
            )
        if isinstance(each, Array):
            converted.append(Array(cast(each.node, wanted)) if each.dtype != wanted else each)
        else:
            converted.append(each.astype(wanted))
    return tuple(converted)


def _rank(number: Any) -> int:
    """The rank of the kind of a Python number."""
    return next(rank for rank, kind in enumerate(NUMBERS) if isinstance(number, kind))


def _inputs(
    operation: Operation, operands: tuple[Any, ...], dtype: np.dtype[Any] | None
) -> tuple[np.dtype[Any], ...]:
    """The dtypes of a loop's operands; see ``_converted``."""
    kinds = tuple(
        [each.dtype if isinstance(each, (Array, np.generic)) else type(each) for each in operands]
    )
    if dtype is None:
        return loop_of(operation, kinds).inputs
    try:
        natural = loop_of(operation, kinds)
    except TypeError:
        natural = None
    if natural is not None and natural.outputs[0] == dtype:
        return natural.inputs
    loop = loop_of(operation, (dtype,) * operation.arity)
    if loop.outputs[0] != dtype:
        raise TypeError(f"{operation.name}: no loop has results of the dtype {dtype}")
    return loop.inputs


def _written(name: str, result: Any, out: Any, where: Any, casting: str) -> Any:
    """Write results to arrays, everywhere or where a mask holds."""
    results = result if isinstance(result, tuple) else (result,)
    if out is None:
        # As of NumPy's arrays without out, elements where the mask does not hold are unspecified.
        outs: tuple[Any, ...] = (None,) * len(results)
    else:
        outs = out if isinstance(out, tuple) else (out,)
    if len(outs) != len(results):
        raise ValueError(f"{name}: out has {len(outs)} arrays for {len(results)} results")
    written = [
        _write(name, own, target, where, casting) for own, target in zip(results, outs, strict=True)
    ]
    return tuple(written) if isinstance(result, tuple) else written[0]


def _write(name: str, result: Array, out: Any, where: Any, casting: str) -> Array:
    mask = None if where is True else _mask(name, where, result)
    if out is None:
        if mask is None or mask.shape == result.shape:
            return result
        shape = broadcast([result.shape, mask.shape])
        return Array(views.broadcasted(result.node, shape))
    if not isinstance(out, Array):
        raise TypeError(f"{name}: out is an array of gridlane.xp, not {type(out).__name__}")
    if not np.can_cast(result.dtype, out.dtype, casting):  # type: ignore[arg-type]  # NumPy checks it
        raise TypeError(
            f"Cannot cast {name} output from {result.dtype} to {out.dtype} with casting rule "
            f"{casting!r}"
        )
    shape = broadcast([result.shape, out.shape, *([] if mask is None else [mask.shape])])
    if shape != out.shape:
        raise ValueError(
            f"{name}: non-broadcastable output operand with shape {out.shape} doesn't match the "
            f"broadcast shape {shape}"
        )
    node = result.node
    if mask is not None:
        node = function("where")(mask, Array(cast(node, out.dtype)), out).node
    assign(out.leaf(), ..., node)
    return out


def _mask(name: str, where: Any, like: Array) -> Array:
    """The array of ``where``."""
    protocols.refuse_hosts(name, (where,))
    device = like.node.device
    assert device is not None
    is_own = isinstance(where, Array)
    mask = where if is_own else Array(transport.uploaded(np.asarray(where, bool), device))
    if mask.dtype != np.bool_:
        raise TypeError(f"{name}: where is an array of bool, not of {mask.dtype}")
    return mask


@of_array
def clip(
    x: Array,
    /,
    min: Any = None,
    max: Any = None,
    out: Array | None = None,
) -> Array:
    """The elements, none less than ``min`` or greater than ``max``; None for no bound."""
    if min is not None and max is not None:
        result = function("clip")(x, min, max)
    elif min is not None:
        result = function("maximum")(x, min)
    else:
        result = x.copy() if max is None else function("minimum")(x, max)
    return result if out is None else _write("clip", result, out, True, "same_kind")


def angle(
    z: Any, /, deg: bool = False, *, out: Any = None, where: Any = True, **options: Any
) -> Array:
    """The angles in radians, or in degrees; 0 or pi of real numbers, by the sign bit.

    Args:
        options: ``dtype`` and ``casting``, as those of other functions.
    """
    if isinstance(z, (bool, np.bool_)):
        z = float(z)
    elif isinstance(z, Array) and z.dtype.kind == "b":
        z = z.astype(np.float64)
    if not deg:
        return function("angle")(z, out=out, where=where, **options)
    degrees = function("angle")(z, **options) * (180 / np.pi)
    return degrees if out is None else _write("angle", degrees, out, where, "same_kind")


def round(x: Array, /, decimals: int = 0, out: Array | None = None) -> Array:
    """The elements rounded to decimals, halves to the even one, by the way of NumPy: they are
    scaled, rounded to integers and scaled back. Those of bool become float16, as NumPy's.

    >>> from gridlane import xp
    >>> round(xp.asarray([0.125, 2.5]), 2)
    array([0.12, 2.5 ])
    """
    places = operator.index(decimals)
    if isinstance(x, (*NUMBERS, np.generic)):  # pyright: ignore[reportUnnecessaryIsInstance]
        x = asarray(x)
    if not isinstance(x, Array):  # pyright: ignore[reportUnnecessaryIsInstance]
        _refuse("round", (x,))
    if x.dtype.kind == "b":
        x = x.astype(np.float16)
    if places == 0 or (x.dtype.kind in "iu" and places > 0):
        result = function("round")(x)
    elif x.dtype.kind in "iu":
        scale = 10.0**-places
        floats = x.astype(np.float64) / scale
        result = (function("round")(floats) * scale).astype(x.dtype)
    elif places > 0:
        result = function("round")(x * 10.0**places) / 10.0**places
    else:
        result = function("round")(x / 10.0**-places) * 10.0**-places
    return result if out is None else _write("round", result, out, True, "same_kind")
