"""Apply an operation of the table to arrays and Python's numbers."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gridlane.launch import current
from gridlane.xp.computing import compute
from gridlane.xp.groups import LIMIT
from gridlane.xp.nodes import CAST, Node, number
from gridlane.xp.operations import OPERATIONS
from gridlane.xp.operations.record import Loop, Operation

if TYPE_CHECKING:
    from gridlane.runtime.protocol import Device

NUMBERS = (bool, int, float, complex)
"""Python's numbers, which take the dtype of the arrays beside them, as NumPy 2 says."""


@cache
def loop_of(operation: Operation, kinds: tuple[Any, ...]) -> Loop:
    """The dtypes in which an operation computes operands of these kinds. Python's numbers alone
    have the dtypes of NumPy's arrays of them.

    Raises:
        TypeError: there is no loop for them.
    """
    if not any(isinstance(each, np.dtype) for each in kinds):
        kinds = tuple([np.dtype(each) for each in kinds])
    return operation.types(kinds)


def applied(operation: Operation, operands: tuple[Node | Any, ...]) -> tuple[Node, ...]:
    """The pending nodes of an operation's results. The operands are nodes, Python's numbers, or
    scalars of NumPy's, which have a dtype as nodes have.

    Raises:
        TypeError: the operation has no loop for the operands' dtypes.
        ValueError: the shapes do not broadcast, or the devices differ.
    """
    if operation.rewrite is not None:
        other = operation.rewrite(*operands)
        if other is not None:
            return applied(OPERATIONS[other[0]], other[1])
    kinds = tuple(
        [each.dtype if isinstance(each, (Node, np.generic)) else type(each) for each in operands]
    )
    loop = loop_of(operation, kinds)
    nodes = tuple(
        [
            cast(each, dtype) if isinstance(each, Node) else scalar(each, dtype)
            for each, dtype in zip(operands, loop.inputs, strict=True)
        ]
    )
    device, shape = device_of(nodes, operation.name), broadcast([each.shape for each in nodes])
    results = tuple(
        [
            Node(device, dtype, shape, operation, nodes, part)
            for part, dtype in enumerate(loop.outputs)
        ]
    )
    if results[0].weight > LIMIT:
        compute(results[0])
    return results


def scalar(value: Any, dtype: np.dtype[Any]) -> Node:
    """A number of Python's or of NumPy's as a node.

    Raises:
        OverflowError, ValueError: the dtype's integers do not hold the number.
    """
    return number(value.astype(dtype).item() if isinstance(value, np.generic) else value, dtype)


def cast(node: Node, dtype: np.dtype[Any]) -> Node:
    """A node's elements as another dtype."""
    if node.dtype == dtype:
        return node
    converted = Node(node.device, dtype, node.shape, CAST, (node,))
    if converted.weight > LIMIT:
        compute(converted)
    return converted


def broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    """The common shape.

    Raises:
        ValueError: there is none.
    """
    common = shapes[0]
    for each in shapes:
        if each != common:
            if not common:
                common = each
            elif each:
                break
    else:
        return common
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " ".join(str(each).replace(" ", "") for each in shapes)
        raise ValueError(f"operands could not be broadcast together with shapes {listed}") from None


def device_of(nodes: tuple[Node, ...], name: str) -> Device:
    """The device of all operands that have one; of numbers alone the current one.

    Raises:
        ValueError: they are on different devices.
    """
    device: Device | None = None
    for each in nodes:
        if each.device is not device and each.device is not None:
            if device is not None:
                break
            device = each.device
    else:
        return current.device() if device is None else device
    devices = {id(each.device): each.device for each in nodes if each.device is not None}
    names = " and ".join(each.name for each in devices.values())
    raise ValueError(
        f"{name}: the operands are on the devices {names}; copy one with x.to_device(...)"
    )
