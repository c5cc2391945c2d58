"""Many operations in one kernel, so that a test of all compiles a few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gridlane.launch.devices import get_device
from gridlane.xp import computing, transport
from gridlane.xp.applying import applied
from gridlane.xp.groups import Form, Group, ordered
from gridlane.xp.nodes import Node
from gridlane.xp.operations.record import Operation

Call = tuple[Operation, Sequence[Any]]
"""An operation with its operands: arrays of one length, and Python's numbers."""
MOST = 24
"""Operations of a kernel."""


def results(device: str, calls: Sequence[Call]) -> list[tuple[np.ndarray, ...]]:
    """The results of calls; operands that are the same object are one array of the device."""
    there = get_device(device)
    leaves: dict[int, Node] = {}
    kept = [each for _, operands in calls for each in operands]  # no identity is reused
    outcomes: list[tuple[Node, ...]] = []
    for operation, operands in calls:
        nodes: list[Any] = []
        for each in operands:
            if not isinstance(each, np.ndarray):
                nodes.append(each)
                continue
            if id(each) not in leaves:
                leaves[id(each)] = transport.uploaded(each, there)
            nodes.append(leaves[id(each)])
        outcomes.append(applied(operation, tuple(nodes)))
    for start in range(0, len(outcomes), MOST):
        _compute([node for each in outcomes[start : start + MOST] for node in each])
    assert kept
    return [tuple(transport.downloaded(node) for node in each) for each in outcomes]


def _compute(roots: list[Node]) -> None:
    """Compute pending nodes of one shape by one kernel."""
    nodes: dict[int, Node] = {}
    for root in roots:
        nodes.update({id(each): each for each in ordered(root)})
    position = {identity: number for number, identity in enumerate(nodes)}
    steps: list[tuple[Any, ...]] = []
    for node in nodes.values():
        if node.storage is not None:
            steps.append(("leaf", node.dtype, (1,)))
        elif node.operation is None:
            steps.append(("number", node.dtype))
        else:
            operands = tuple(position[id(each)] for each in node.operands)
            steps.append((node.operation.name, node.dtype, node.part, operands))
    stored = tuple(position[id(each)] for each in roots if each.is_pending)
    form = Form(1, False, tuple(steps), stored)
    group = Group(form, list(nodes.values()), roots[0].shape, ())
    device = roots[0].device
    assert device is not None
    leaves = [computing.new_leaf(device, node.dtype, node.shape) for node in group.stored]
    computing._launch(device, group, leaves)
    computing._settle(group.stored, leaves)
