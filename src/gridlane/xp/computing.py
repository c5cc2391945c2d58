"""Compute nodes: launch the kernel of a group."""

from __future__ import annotations

import math
import sys
import threading
from typing import Any

import numpy as np

from gridlane.core.compact import Variant
from gridlane.core.options import KernelOptions
from gridlane.ir.source import ModuleSource
from gridlane.launch.kernel import Kernel
from gridlane.launch.plan import Plan
from gridlane.runtime.protocol import Device
from gridlane.xp.groups import Form, Group, group_of
from gridlane.xp.kernels import THREADS, module_of
from gridlane.xp.nodes import CAST, Node, Storage, contiguous

OPTIONS = KernelOptions(fp64="exact", fma=False)
"""float64 is exact on devices without it, and products and sums round as NumPy's do."""
_BLOCK = (THREADS, 1, 1)
_lock = threading.RLock()
_kernels: dict[Form, Kernel] = {}
_plans: dict[tuple[Form, Device], Plan] = {}


def compute(root: Node) -> None:
    """Make a leaf of a pending node, and of what else its kernel stores."""
    with _lock:
        if not root.is_pending:
            return
        device = root.device
        assert device is not None
        if root.size == 0:
            root.settle(new_leaf(device, root.dtype, root.shape))
            return
        group = group_of(root, compute)
        leaves = [new_leaf(device, node.dtype, root.shape) for node in group.stored]
        _launch(device, group, leaves)
        _settle(group.stored, leaves)


def _settle(nodes: list[Node], leaves: list[Node]) -> None:
    for node, leaf in zip(nodes, leaves, strict=True):
        leaf.strides = contiguous(node.shape)
        node.settle(leaf)


def copied(node: Node) -> Node:
    """A leaf with a copy of the elements of a node, in C's order."""
    copy = Node(node.device, node.dtype, node.shape, CAST, (node,))
    compute(copy)
    return copy


def store(node: Node, target: Node) -> None:
    """Write a node's elements, converted to the target's dtype, over those of a leaf of its shape.
    Expressions that read that memory keep the elements that it had."""
    with _lock:
        storage, device = target.storage, target.device
        assert storage is not None and device is not None
        if not target.size:
            return
        # Whoever reads the target's own leaf keeps what it has now.
        target = storage.leaf(target.dtype, target.shape, target.strides, target.offset)
        source = Node(device, target.dtype, target.shape, CAST, (node,))
        group = group_of(source, compute, target)
        if any(_overlaps(leaf, target) for leaf in group.nodes):
            compute(source)
            source = Node(device, target.dtype, target.shape, CAST, (source,))
            group = group_of(source, compute, target)
        _detach(storage, group, target)
        leaves = [new_leaf(device, each.dtype, target.shape) for each in group.stored[:-1]]
        _launch(device, group, [*leaves, target])
        _settle(group.stored[:-1], leaves)


def _overlaps(leaf: Node, target: Node) -> bool:
    """Whether a thread may read what another one writes."""
    if leaf.storage is not target.storage:
        return False
    return (leaf.offset, leaf.strides, leaf.shape, leaf.dtype) != (
        target.offset,
        target.strides,
        target.shape,
        target.dtype,
    )


def _detach(storage: Storage, group: Group, target: Node) -> None:
    """Let the pending expressions that read some memory, but for a group's, have a copy of it; the
    target is of the memory itself."""
    inside: dict[int, int] = {}
    for operands in {id(each.operands): each.operands for each in group.nodes}.values():
        for identity in map(id, operands):
            inside[identity] = inside.get(identity, 0) + 1
    for identity in map(id, group.nodes):
        inside[identity] = inside.get(identity, 0) + 1
    copy: Storage | None = None
    for reference in list(storage.leaves):
        leaf = reference()
        if leaf is None or leaf is target:
            continue
        owner = leaf.owner() if leaf.owner is not None else None
        # This variable and the argument of getrefcount refer to it, as does its array.
        own = inside.get(id(leaf), 0) + 2 + (owner is not None)
        if sys.getrefcount(leaf) <= own:
            continue
        if owner is not None:
            owner.rebind(storage.leaf(leaf.dtype, leaf.shape, leaf.strides, leaf.offset))
        if copy is None:
            copy = _duplicate(storage)
        leaf.storage = copy
        copy.leaves.append(reference)


def _duplicate(storage: Storage) -> Storage:
    """A copy of some memory."""
    device, size = storage.device, storage.buffer.size
    buffer = device.allocate(size)
    device.copy(buffer.address, storage.buffer.address, size)
    return Storage(device, buffer)


def new_leaf(device: Device, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Node:
    """A leaf in new memory, in C's order.

    Raises:
        DeviceError: OUT_OF_MEMORY.
    """
    size = math.prod(shape) * dtype.itemsize
    return Storage(device, device.allocate(size)).leaf(dtype, shape, contiguous(shape), 0)


def _launch(device: Device, group: Group, leaves: list[Node]) -> None:
    """Append the kernel of a group that stores into leaves."""
    form, extents = group.form, group.extents
    kernel = _kernels.get(form)
    if kernel is None:
        kernel = _kernels[form] = Kernel(ModuleSource(module_of(form)), (), OPTIONS)
    plan = _plans.get((form, device))
    if plan is None:
        plan = _plans[form, device] = kernel.plan(_BLOCK, Variant(compact=True), device)
    values: list[Any] = []
    keep: list[Any] = [leaf.storage for leaf in leaves]
    for node in group.nodes:
        if node.storage is not None:
            values.append(node.storage.buffer.address + node.offset)
            keep.append(node.storage)
        elif not node.is_pending:
            values += _numbers(node)
    for leaf in leaves:
        assert leaf.storage is not None
        values.append(leaf.storage.buffer.address + leaf.offset)
    params = plan.pack(*values, *extents, *group.strides)
    grid = (_blocks(form, extents), 1, 1)
    kernel.fitting(plan, grid, params).launch(grid, params, keep=keep)


def _numbers(node: Node) -> list[Any]:
    """A Python number as arguments."""
    value = node.number
    return [value.real, value.imag] if node.dtype.kind == "c" else [value]


def _blocks(form: Form, extents: tuple[int, ...]) -> int:
    """The blocks of a launch."""
    if form.by_rows:
        return math.prod(extents[:-1]) * -(-extents[-1] // THREADS)
    return -(-math.prod(extents) // THREADS)
