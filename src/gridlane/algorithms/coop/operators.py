"""Operators of block and warp algorithms as device functions on values.

By the convention of ``cuda.coop``, a function of integers or floats gets and returns values. One of
other items gets arrays of one item: ``op(result, a, b)`` writes ``result[0]``, ``before(a, b)``
returns a bool.
"""

# pyright: reportMissingParameterType=false
# Device functions: their arguments have the types of each call.

from __future__ import annotations

import inspect
import types
from typing import Any

from gridlane import cuda
from gridlane.algorithms.coop.elements import Element
from gridlane.algorithms.coop.invocable import StatefulFunction, device
from gridlane.algorithms.coop.scan_op import ScanOp
from gridlane.algorithms.known_operators import known
from gridlane.cuda.kernels.decorators import jit
from gridlane.cuda.kernels.dispatcher import Dispatcher


def combining(op: Any, element: Element, role: str) -> Dispatcher:
    """The device function of two items that returns an item.

    Raises:
        TypeError: it is no function of two values, or of a result and two items; or a named
            operator has no meaning for a structure.
    """
    scan_op = op if isinstance(op, ScanOp) else ScanOp(op)
    if scan_op.kind is not None:
        if element.is_struct:
            raise TypeError(
                f"{role} {scan_op.op!r} has no meaning for structures; write a function"
            )
        return _by_value(known(scan_op.kind, True), element)
    function, count = _function(scan_op.op, role)
    if count == 2:
        return _by_value(function, element)
    if count != 3 or element.is_plain:
        raise TypeError(
            f"{role} has {count} parameters; it takes two values, or where items are no plain "
            "numbers a result and two items, each as an array of one"
        )
    put, get, dtype = element.put, element.get, element.dtype

    @jit(device=True)
    def combine(a, b):
        result = cuda.local.array(1, dtype)
        left = cuda.local.array(1, dtype)
        right = cuda.local.array(1, dtype)
        put(left, 0, a)
        put(right, 0, b)
        function(result, left, right)
        return get(result, 0)

    return combine


def comparing(op: Any, element: Element, role: str = "compare_op") -> Dispatcher:
    """The device function whether an item comes before another.

    Raises:
        TypeError: it is no function of two items.
    """
    function, count = _function(op, role)
    if count != 2:
        raise TypeError(f"{role} has {count} parameters; it takes two items")
    if element.is_plain:
        return function
    put, dtype = element.put, element.dtype

    @jit(device=True)
    def before(a, b):
        left = cuda.local.array(1, dtype)
        right = cuda.local.array(1, dtype)
        put(left, 0, a)
        put(right, 0, b)
        return function(left, right)

    return before


def prefixing(op: Any, element: Element) -> Dispatcher:
    """The device function of the state, if it has one, and a block's aggregate that returns the
    prefix of the block.

    Raises:
        TypeError: it has other parameters.
    """
    stateful = isinstance(op, StatefulFunction)
    function, count = _function(op.op.__call__ if stateful else op, "the prefix callback")
    by_value = count == (2 if stateful else 1)
    if not by_value and (count != (3 if stateful else 2) or element.is_plain):
        raise TypeError(
            f"the prefix callback has {count} parameters; it takes its state, if it is a "
            "StatefulFunction, and the aggregate"
        )
    cast, put, get, dtype = element.cast, element.put, element.get, element.dtype

    @jit(device=True)
    def of_value(*arguments):
        return cast(function(*arguments))

    @jit(device=True)
    def of_items(*arguments):
        result = cuda.local.array(1, dtype)
        aggregate = cuda.local.array(1, dtype)
        if stateful:
            put(aggregate, 0, arguments[1])
            function(arguments[0], result, aggregate)
        else:
            put(aggregate, 0, arguments[0])
            function(result, aggregate)
        return get(result, 0)

    return of_value if by_value else of_items


def _function(op: Any, role: str) -> tuple[Dispatcher, int]:
    """A device function, and the number of its parameters."""
    function = getattr(op, "py_func", op)
    if not isinstance(function, types.FunctionType):
        raise TypeError(f"{role} is {op!r}; a Python function is required")
    made = op if isinstance(op, Dispatcher) else jit(function, device=True)
    return made, len(inspect.signature(function).parameters)


def _by_value(function: Dispatcher, element: Element) -> Dispatcher:
    cast = element.cast

    def combine(a: Any, b: Any) -> Any:
        return cast(function(a, b))

    return device(combine)
