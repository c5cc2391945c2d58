"""Compute nodes: launch the kernel of a group."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Hashable
from itertools import chain
from typing import Any

import numpy as np

from gridlane.core import trace
from gridlane.core.compact import ANY, COARSE, MANY_BLOCKS, Variant
from gridlane.core.device_errors import CAPTURE_IMPLICIT, fail
from gridlane.core.options import KernelOptions
from gridlane.cuda.interop.torch_streams import captured_now
from gridlane.ir.source import ModuleSource
from gridlane.ir.values import Module
from gridlane.launch import current
from gridlane.launch.kernel import Kernel
from gridlane.launch.plan import Plan
from gridlane.memory.resource import Buffer
from gridlane.runtime.protocol import Device
from gridlane.xp import product_kernels, recipes
from gridlane.xp.groups import Form, Group, group_of, ordered, stored_beside, users_of
from gridlane.xp.kernels import THREADS, module_of
from gridlane.xp.nodes import CAST, INDEX, Gather, Node, Scatter, Storage, contiguous
from gridlane.xp.product_kernels import Tiles
from gridlane.xp.recipes import Recipe, Recorder, parts_of
from gridlane.xp.reductions import kernels as reductions
from gridlane.xp.reductions import row_kernels, scan_kernels
from gridlane.xp.reductions.folding import fold_into, scan_into
from gridlane.xp.reductions.record import WARP, Reduction, Scan, blocks_of, threads_of
from gridlane.xp.reductions.row_groups import row_group_of

OPTIONS = KernelOptions(fp64="exact", fma=False, own_functions=True)
"""float64 is exact on devices without it, products and sums round as NumPy's do, and functions are
our own, but for ``interp``: they differ between devices only where multiply-adds are fused."""
_lock = threading.RLock()
_kernels: dict[tuple[Form, Tiles | None], Kernel] = {}
_plans: dict[tuple[Form, Tiles | None, Device, bool], Plan] = {}
"""By form, tiles of a product, device, and whether the code is coarse."""
_planned: list[Group] | None = None
"""The groups of a plan that is being made, which are not launched."""


_recorder: Recorder | None = None
"""Notes what the computation of an expression does."""
_recipes: dict[Hashable, Recipe | None] = {}
"""By the key of an expression's trace; None if it cannot be repeated."""


def compute(root: Node) -> None:
    """Make a leaf of a pending node, and of what else its kernel stores."""
    with _lock:
        if not root.is_pending:
            return
        if root.device is not None and captured_now(root.device) is not None:
            fail(
                CAPTURE_IMPLICIT,
                "a group of xp, while torch captures its current stream",
                "compute it before the capture; the graph has kernels, tile programs and loop "
                "nests with torch's tensors",
            )
        if _recorder is not None or _planned is not None or trace.enabled():
            _compute(root)
            return
        traced = recipes.trace(root)
        if traced is None:
            _compute(root)
            return
        key, nodes = traced
        recipe = _recipes.get(key, _UNKNOWN)
        if isinstance(recipe, Recipe):
            recipe.repeat(nodes)
            return
        device = root.device
        # Launches choose code by the addresses of several buffers.
        if recipe is None or not root.size or device is None or device.several_buffers:
            del traced, nodes
            _compute(root)
            return
        recorder = Recorder(device, nodes)
        del traced, nodes  # references tell what is stored
        _record(root, key, recorder)


_UNKNOWN = object()


def _record(root: Node, key: Hashable, recorder: Recorder) -> None:
    """Compute a node, and keep the recipe."""
    global _recorder
    _recorder = recorder
    try:
        _compute(root)
    finally:
        _recorder = None
    if len(_recipes) >= recipes.MOST:
        _recipes.clear()
    _recipes[key] = recorder.recipe()


def _compute(root: Node) -> None:
    """Make a leaf of a pending node, without a recipe."""
    device = root.device
    assert device is not None
    if root.size == 0:
        root.settle(_result(device, root.dtype, root.shape))
        return
    group = row_group_of(root, compute)
    if group is not None:
        leaves = [_result(device, node.dtype, node.shape) for node in group.stored]
        _launch(device, group, leaves)
        _settle(group.stored, leaves)
        return
    if isinstance(root.operation, Reduction):
        fold_into(root, compute, _launch, _result)
        return
    if isinstance(root.operation, Scan):
        scan_into(root, compute, _launch, _result)
        return
    group = group_of(root, compute)
    leaves = [_result(device, node.dtype, root.shape) for node in group.stored]
    _launch(device, group, leaves)
    _settle(group.stored, leaves)


def launch(group: Group, result: Node) -> None:
    """Append the kernel of a group of leaves, which stores into another leaf."""
    with _lock:
        assert result.device is not None
        _launch(result.device, group, [result])
        if any(node.is_shared for node in group.nodes):
            _finish(result.device)


def planned(root: Node) -> list[Group]:
    """The groups that computing a node launches, in order. Nothing is launched, and the node stays
    as it is."""
    global _planned
    with _lock:
        if not root.is_pending or not root.size:
            return []
        copy, kept = _copied_expression(root)
        _planned = groups = []
        try:
            compute(copy)
        finally:
            _planned = None
        assert kept is not None
        return groups


def _copied_expression(root: Node) -> tuple[Node, list[Node]]:
    """A copy of a pending node and of those that it depends on, with its leaves; and a reference to
    each copy of a node that somebody outside of the expression refers to."""
    nodes = ordered(root)
    outside = stored_beside(nodes)
    copies: list[Node] = []
    place = {id(node): number for number, node in enumerate(nodes)}
    for node in nodes:
        if not node.is_pending:
            copies.append(node)
            continue
        operands = tuple([copies[place[id(each)]] for each in node.operands])
        copy = Node(node.device, node.dtype, node.shape, node.operation, operands, node.part)
        copy.strides, copy.offset = node.strides, node.offset
        copies.append(copy)
    return copies[-1], [copies[number] for number in outside]


def _settle(nodes: list[Node], leaves: list[Node]) -> None:
    for node, leaf in zip(nodes, leaves, strict=True):
        leaf.strides = contiguous(node.shape)
        node.settle(leaf)


def copied(node: Node) -> Node:
    """A leaf with a copy of the elements of a node, in C's order."""
    copy = Node(node.device, node.dtype, node.shape, CAST, (node,))
    compute(copy)
    return copy


Places = tuple[tuple[Node, int, int], ...]
"""Computed indices: of each an int64 node, and the stride and the extent of its dimension."""


def store(node: Node, target: Node, places: Places = ()) -> None:
    """Write a node's elements, converted to the target's dtype, over those of a leaf of its shape.
    Expressions that read that memory keep the elements that it had.

    Args:
        places: indices in bounds, which the strides of the target are 0 for.

    Raises:
        ValueError: elements of the target share memory, or it is read-only or on another device.
    """
    with _lock:
        storage, device = target.storage, target.device
        assert storage is not None and device is not None
        if node.device is not device and node.device is not None:
            raise ValueError(
                f"the elements are on the device {node.device.name}, and the array that gets them "
                f"on {device.name}; copy one with x.to_device(...)"
            )
        if not target.size:
            return
        if not places:
            check_target(target)
        # Readers of the target's own leaf keep its present elements.
        target = storage.leaf(target.dtype, target.shape, target.strides, target.offset)
        group = group_of(_root(node, target, places), compute, target)
        if any(_overlaps(each, target, bool(places)) for each in group.nodes):
            del group
            copy = Node(device, target.dtype, target.shape, CAST, (node,))
            compute(copy)
            group = group_of(_root(copy, target, places), compute, target)
        _detach(storage, group.nodes, target)
        leaves = [new_leaf(device, each.dtype, target.shape) for each in group.stored[:-1]]
        _launch(device, group, [*leaves, target])
        _settle(group.stored[:-1], leaves)
        if storage.outside:
            _finish(device)


def _root(node: Node, target: Node, places: Places) -> Node:
    """The root of a store's group."""
    source = Node(target.device, target.dtype, target.shape, CAST, (node,))
    if not places:
        return source
    axes = tuple([(stride, extent) for _, stride, extent in places])
    indices = tuple([each for each, _, _ in places])
    return Node(target.device, target.dtype, target.shape, Scatter(axes), (source, *indices))


def check_target(target: Node) -> None:
    """Refuse read-only memory, and elements that share memory, as those of ``broadcast_to`` do."""
    if target.storage is not None and target.storage.readonly:
        raise ValueError("assignment destination is read-only: its owner lets nobody write to it")
    pairs = zip(target.shape, target.strides, strict=True)
    if target.size and any(extent > 1 and not stride for extent, stride in pairs):
        raise ValueError("assignment destination is read-only: its elements share memory")


def _overlaps(node: Node, target: Node, is_scattered: bool) -> bool:
    """Whether a thread may read what another one writes."""
    if isinstance(node.operation, Gather):
        return node.operation.source.storage is target.storage
    leaf = node
    if leaf.storage is not target.storage:
        return False
    return is_scattered or (leaf.offset, leaf.strides, leaf.shape, leaf.dtype) != (
        target.offset,
        target.strides,
        target.shape,
        target.dtype,
    )


def expose(storage: Storage) -> None:
    """Open memory to code beyond the arrays. Pending expressions keep the elements it has now."""
    with _lock:
        if not storage.outside:
            _detach(storage, [], None)
            storage.outside = True
        current.submit_delayed()
        _finish(storage.device)


def compute_exposed(node: Node) -> None:
    """Make a leaf of a pending node that reads memory of others, before they write to it."""
    compute(node)
    assert node.device is not None
    _finish(node.device)


def _finish(device: Device) -> None:
    """Wait for the work on memory that the host uses in place; other memory has streams."""
    if device.host_visible:
        device.default_stream.synchronize()


def _detach(storage: Storage, nodes: list[Node], target: Node | None) -> None:
    """Let the pending expressions that read some memory, but for a group's, have a copy of it; the
    target is of the memory itself."""
    inside = users_of(nodes)
    for identity in map(id, nodes):
        inside[identity] = inside.get(identity, 0) + 1
    copy: Storage | None = None
    for reference in list(storage.leaves):
        leaf = reference()
        if leaf is None or leaf is target or leaf.storage is not storage:
            continue
        owner = leaf.owner() if leaf.owner is not None else None
        if owner is not None and owner.node is not leaf:  # it is the array of another node now
            owner = None
        # This variable and the argument of getrefcount refer to it, as does its array. Only if that
        # is no variable: CPython 3.14 borrows the reference of some variables.
        own = inside.get(id(leaf), 0) + 2 + (owner is not None)
        if sys.getrefcount(reference()) <= own:
            continue
        if owner is not None:
            owner.rebind(storage.leaf(leaf.dtype, leaf.shape, leaf.strides, leaf.offset))
        if copy is None:
            copy = _duplicate(storage)
        leaf.storage = copy
        copy.note(leaf)
    if copy is not None:
        storage.forget()


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


def _result(device: Device, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Node:
    """A leaf for a kernel's results, under the lock: planned, recorded or new."""
    if _planned is not None:
        return Storage(device, Buffer(0, 0)).leaf(dtype, shape, contiguous(shape), 0)
    leaf = new_leaf(device, dtype, shape)
    if _recorder is not None and leaf.storage is not None:
        _recorder.allocated(leaf.storage, math.prod(shape) * dtype.itemsize)
    return leaf


def _launch(device: Device, group: Group, leaves: list[Node]) -> None:
    """Append the kernel of a group that stores into leaves."""
    if _planned is not None:
        _planned.append(group)
        return
    form, extents = group.form, group.extents
    tiles = product_kernels.tiles_of(group, device) if form.product is not None else None
    kernel = _kernels.get((form, tiles))
    if kernel is None:
        kernel = _kernels[form, tiles] = _kernel_of(form, tiles)
    blocks, coarse = _blocks(form, extents, tiles), False
    if device.route != "inline" and form.fold is None and form.product is None:
        blocks, coarse = _coarsened(form, blocks, device)
    plan = _plans.get((form, tiles, device, coarse))
    if plan is None:
        threads = threads_of(form.fold, THREADS) if form.fold else THREADS
        variant = Variant(compact=True, coarse=coarse)
        if tiles is not None:
            threads, variant = WARP, ANY
        plan = kernel.plan((threads, 1, 1), variant, device)
        _plans[form, tiles, device, coarse] = plan
    values, keep = _arguments(group, leaves)
    params = plan.pack(*values, *extents, *group.strides)
    grid = (blocks, 1, 1)
    fitting = kernel.fitting(plan, grid, params)
    fitting.launch(grid, params, keep=keep)
    if _recorder is not None:
        arguments = [node for node in group.nodes if not node.is_pending]
        _recorder.launched(fitting, grid[0], [*arguments, *leaves], (*extents, *group.strides))


def _arguments(group: Group, leaves: list[Node]) -> tuple[list[Any], list[Any]]:
    """The numbers of a group's arrays, as its kernel takes them, and what the launch keeps."""
    values: list[Any] = []
    keep: list[Any] = [leaf.storage for leaf in leaves]
    for node in group.nodes:
        if node.storage is not None:
            values.append(node.storage.buffer.address + node.offset)
            keep.append(node.storage)
        elif not node.is_pending:
            values += parts_of(node)
        elif node.operation is INDEX:
            values.append(node.offset)
        elif isinstance(node.operation, Gather):
            source = node.operation.source
            assert source.storage is not None
            values.append(source.storage.buffer.address + source.offset)
            keep.append(source.storage)
            values += chain.from_iterable(node.operation.axes)
        elif isinstance(node.operation, Scatter):
            values += chain.from_iterable(node.operation.axes)
    for leaf in leaves:
        assert leaf.storage is not None
        values.append(leaf.storage.buffer.address + leaf.offset)
    return values, keep


def _coarsened(form: Form, blocks: int, device: Device) -> tuple[int, bool]:
    """The blocks of a launch on a GPU, and whether coarse code is for it: with many blocks a thread
    computes several elements. Blocks without elements may be added behind the last one."""
    if blocks < MANY_BLOCKS * device.limits.multiprocessors:
        return blocks, False
    if form.by_rows:
        return blocks, blocks % COARSE == 0
    return -(-blocks // COARSE) * COARSE, True


def _kernel_of(form: Form, tiles: Tiles | None) -> Kernel:
    """The kernel of a form, by tiles if there are some."""
    if tiles is None:
        return Kernel(ModuleSource(_module_of(form)), (), OPTIONS)
    from gridlane.xp import tile_products  # the language of tile programs is of no use to others

    return tile_products.kernel_of(form, tiles, OPTIONS)


def _module_of(form: Form) -> Module:
    """The kernel of a form."""
    if form.product is not None:
        return product_kernels.module_of(form)
    if form.fold is None:
        return module_of(form)
    if form.stages is not None:
        return row_kernels.module_of(form)
    return scan_kernels.module_of(form) if form.fold.scan else reductions.module_of(form)


def _blocks(form: Form, extents: tuple[int, ...], tiles: Tiles | None) -> int:
    """The blocks of a launch."""
    if form.product is not None:
        return product_kernels.blocks_of(extents, tiles)
    if form.fold is not None:
        threads = threads_of(form.fold, THREADS)
        return blocks_of(form.fold, form.by_rows, extents, threads)
    if form.by_rows:
        return math.prod(extents[:-1]) * -(-extents[-1] // THREADS)
    return -(-math.prod(extents) // THREADS)
