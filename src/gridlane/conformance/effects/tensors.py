"""Cases of copies of boxes of tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from gridlane.conformance.cases import Case
from gridlane.conformance.effects.making import THREADS, case, out
from gridlane.conformance.kernels import Kernel
from gridlane.core.dtypes import b1, i32, u8, u32, u64
from gridlane.core.frozen import frozen
from gridlane.core.tensor_map import ALIGN, SIZE, Element, TensorMap
from gridlane.ir.op import Op
from gridlane.ir.ops import grid, memory, tensors
from gridlane.ir.ops.atomic import AtomicKind
from gridlane.ir.ops.clusters import TensorMulticast
from gridlane.ir.ops.mbarriers import MbarrierArrive, MbarrierInit, MbarrierPassed
from gridlane.ir.ops.shared_matrix import ALIGN as SHARED_ALIGN
from gridlane.ir.types import Space, pointer
from gridlane.ir.values import Value

_BYTES = 8 << 10
_WORDS = 16 << 10
"""Of the tensor's memory."""


@frozen
class _Tensor:
    """A tensor, and the corner of the first block's box; that of the second is ``step`` further."""

    label: str
    of: TensorMap
    corner: tuple[int, ...]
    step: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """Bytes of a box."""
        steps = (1, *self.of.steps[1:])
        counts = [-(-span // step) for span, step in zip(self.of.box, steps, strict=True)]
        return int(np.prod(counts)) * self.of.element.size


def _tensor(
    element: Element,
    extents: Sequence[int],
    box: Sequence[int],
    corner: Sequence[int],
    step: Sequence[int],
    steps: Sequence[int] = (),
    swizzle: int = 0,
    nan: bool = False,
) -> _Tensor:
    strides: list[int] = []
    pitch = -(-extents[0] * element.size // 16) * 16
    for extent in extents[1:]:
        strides.append(pitch)
        pitch = (pitch * extent // 16 + 1) * 16
    steps = tuple(steps) or (1,) * len(extents)
    shape = tuple(extents), tuple(strides), tuple(box), steps
    of = TensorMap(0, element, *shape, swizzle, nan, ALIGN - 1)
    kinds = [element.name.lower(), f"{len(extents)}d", *(["nan"] if nan else [])]
    label = "-".join([*kinds, *([str(16 << swizzle)] if swizzle else [])])
    return _Tensor(label, of, tuple(corner), tuple(step))


TENSORS = (
    _tensor(Element.U8, (77,), (32,), (-16,), (64,)),
    _tensor(Element.F16, (70, 30), (64, 8), (8, -2), (0, 25), swizzle=3),
    _tensor(Element.BF16, (50, 9), (16, 4), (-8, 0), (48, 6), swizzle=1, nan=True),
    _tensor(Element.TF32, (21, 6, 5), (16, 2, 3), (-4, 1, 1), (12, 4, 3), swizzle=2),
    _tensor(Element.F64, (11, 3, 3, 4), (4, 2, 2, 2), (0, 0, 0, 0), (8, 2, 1, 3), nan=True),
    _tensor(
        Element.I32, (16, 6, 4, 3, 2), (4, 3, 4, 2, 1), (0, 0, 0, 1, 0), (4, 3, 1, 0, 1),
        (1, 2, 3, 1, 1),
    ),
)  # fmt: skip


def copies_of_boxes() -> Iterator[Case]:
    """Boxes inside, and in part outside of tensors."""
    for tensor in TENSORS:
        yield case("tensor_load", tensor.label, _loading(tensor))
        yield case("tensor_multicast", tensor.label, _loading(tensor, True))
        yield case("tensor_store", tensor.label, _storing(_inside(tensor), None))
    for element in (Element.U32, Element.I64):
        tensor = _tensor(element, (11, 7), (8, 4), (0, 0), (8, 5), swizzle=3)
        for kind in (AtomicKind.ADD, AtomicKind.MIN, AtomicKind.XOR):
            label = f"{kind.value}-{tensor.label}"
            yield case("tensor_reduce", label, _storing(tensor, kind))
    tensor = _tensor(Element.U32, (11, 7), (8, 4), (0, 0), (8, 5))
    for kind in (AtomicKind.INC, AtomicKind.DEC, AtomicKind.MAX, AtomicKind.AND, AtomicKind.OR):
        yield case("tensor_reduce", f"{kind.value}-{tensor.label}", _storing(tensor, kind))
    tensor = _tensor(Element.F32, (11, 7), (8, 4), (0, 0), (8, 5))
    yield case("tensor_reduce", f"add-{tensor.label}", _storing(tensor, AtomicKind.ADD))
    for op in (tensors.BulkCommit(), tensors.BulkWait(0), tensors.ProxyFence()):
        yield case(op.name, "", _alone(type(op)))


def _inside(tensor: _Tensor) -> _Tensor:
    """The tensor with a corner that GPUs store boxes at, which is not negative."""
    return replace(tensor, corner=tuple([max(0, place) for place in tensor.corner]))


def _begun(kernel: Kernel, tensor: _Tensor, array: Value) -> tuple[Value, Value, list[Value]]:
    """Shared memory that is filled, the description of a tensor, and the corner of the block."""
    b = kernel.builder
    words = _BYTES // 4
    start = kernel.shared("memory", u32, words, SHARED_ALIGN)
    for first in range(0, words, THREADS):
        place = b.add(kernel.local, b.const(first, i32))
        with b.if_(b.lt(place, b.const(words, i32))):
            number = b.add(b.cast(place, u32), b.const(1, u32))
            b.store(b.offset(start, place), b.mul(number, b.const(0x00350013, u32)))
    b.emit(grid.Barrier())
    map_ = b.value(memory.LocalArray(u64, SIZE // 8))
    for number, word in enumerate(np.frombuffer(tensor.of.encode(), np.uint64)):
        value = b.const(int(word), u64) if number else b.value(memory.Address(array))
        b.store(b.offset(map_, b.const(number, i32)), value)
    block = b.value(grid.BlockIdx(grid.Axis.X))
    corner = [
        b.add(b.const(place, i32), b.mul(block, b.const(step, i32)))
        for place, step in zip(tensor.corner, tensor.step, strict=True)
    ]
    return start, map_, corner


def _given(tensor: _Tensor) -> np.ndarray:
    """Numbers without NaN, which lose bits on some ways."""
    words = np.random.default_rng(5).integers(0, 1 << 32, _WORDS, np.uint32)
    return words & np.uint32(0x3FBF3FBF)


def _loading(tensor: _Tensor, multicast: bool = False) -> Callable[[Kernel], list[np.ndarray]]:
    def fill(kernel: Kernel) -> list[np.ndarray]:
        """One thread copies; all store what shared memory has then. ``multicast``: to the blocks
        of a cluster, which is one."""
        b = kernel.builder
        start, map_, corner = _begun(kernel, tensor, kernel.array(u32))
        bar = kernel.shared("bar", u64, 1, 8)
        with b.if_(b.eq(kernel.local, b.const(0, i32))):
            b.emit(MbarrierInit(bar, b.const(1, u32)))
            b.emit(MbarrierArrive(bar, b.const(1, u32), b.const(tensor.bytes, u32), True))
            box = b.recast(start, pointer(u8, Space.SHARED))
            if multicast:
                b.emit(TensorMulticast(box, map_, bar, b.const(1, u32), tuple(corner)))
            else:
                b.emit(tensors.TensorLoad(box, map_, bar, tuple(corner)))
        b.emit(grid.Barrier())
        kernel.store(b.value(MbarrierPassed(bar, b.const(0, u32), True)))
        own = kernel.array(u32)
        size = _BYTES // 4
        first = b.mul(b.value(grid.BlockIdx(grid.Axis.X)), b.const(size, i32))
        for number in range(0, size, THREADS):
            place = b.add(kernel.local, b.const(number, i32))
            with b.if_(b.lt(place, b.const(size, i32))):
                b.store(b.offset(own, b.add(first, place)), b.load(b.offset(start, place)))
        return [_given(tensor), out(b1), np.zeros(2 * size, np.uint32)]

    return fill


def _storing(tensor: _Tensor, kind: AtomicKind | None) -> Callable[[Kernel], list[np.ndarray]]:
    def fill(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        start, map_, corner = _begun(kernel, tensor, kernel.array(u32))
        with b.if_(b.eq(kernel.local, b.const(0, i32))):
            box = b.recast(start, pointer(u8, Space.SHARED))
            if kind is None:
                b.emit(tensors.TensorStore(box, map_, tuple(corner)))
            else:
                b.emit(tensors.TensorReduce(kind, box, map_, tuple(corner)))
        return [_given(tensor)]

    return fill


def _alone(kind: type[Op]) -> Callable[[Kernel], list[np.ndarray]]:
    def fill(kernel: Kernel) -> list[np.ndarray]:
        b = kernel.builder
        b.emit(tensors.BulkWait(0) if kind is tensors.BulkWait else kind())
        kernel.store(kernel.local)
        return [out(i32)]

    return fill
