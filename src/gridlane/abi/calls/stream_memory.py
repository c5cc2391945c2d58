"""Words of memory that streams write and wait for."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass

from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.abi.state import memory, streams
from gridlane.abi.state.streams import Stream
from gridlane.abi.struct import Struct
from gridlane.core import endings
from gridlane.core.cuda_table import enums, layout
from gridlane.runtime.queues.host_queue import HostQueue, busy_queues, own_queue

_FLUSH = 1 << 30
_MOST = 255
_WAIT_32, _WRITE_32, _FLUSH_REMOTE, _WAIT_64, _WRITE_64, _BARRIER = range(1, 7)
_SPINS, _SHORTEST, _LONGEST = 100, 20e-6, 1e-3
"""A wait looks so often at once, then after pauses of these seconds, each twice the one before."""


@dataclass(frozen=True, slots=True)
class _Operation:
    """An operation; ``compare`` is the condition that ends a wait, and None for a write."""

    address: int
    value: int
    bits: int
    compare: Callable[[int, int, int], bool] | None = None


def _at_least(word: int, value: int, bits: int) -> bool:
    """Whether a word is at least a value, in a circle."""
    return not (word - value) >> bits - 1 & 1


_COMPARISONS: tuple[Callable[[int, int, int], bool], ...] = (
    _at_least,
    lambda word, value, bits: word == value,
    lambda word, value, bits: bool(word & value),
    lambda word, value, bits: (word | value) != (1 << bits) - 1,
)
"""By the numbers of CUstreamWaitValue_flags: GEQ, EQ, AND, NOR."""


def _word(address: int, bits: int) -> ctypes.c_uint32 | ctypes.c_uint64:
    return (ctypes.c_uint32 if bits == 32 else ctypes.c_uint64).from_address(address)


def _check_address(address: int, bits: int, stream: Stream) -> None:
    """Raise INVALID_VALUE unless kernels of the stream's device use the word by this address."""
    context = stream.context
    allocation = memory.find(address, bits // 8, context.ordinal)
    if allocation is None and memory.variable(address, context) is None:
        fail(INVALID_VALUE, f"{address:#x} is in no allocation")
    if address % (bits // 8):
        fail(INVALID_VALUE, f"{address:#x} is no address of a word of {bits} bits")
    if allocation is not None and allocation.kind == "managed":
        fail(INVALID_VALUE, "streams neither write managed memory so, nor wait for it")
    if allocation is not None and allocation.kind != "device" and not context.device.host_visible:
        fail(INVALID_VALUE, f"the device {context.device.name} does not use memory of the host")


def _writing(address: int, value: int, bits: int, flags: int, stream: Stream) -> _Operation:
    """A write, checked."""
    if flags & ~1:
        fail(INVALID_VALUE, f"writing with the flags {flags:#x}")
    _check_address(address, bits, stream)
    return _Operation(address, value & (1 << bits) - 1, bits)


def _waiting(address: int, value: int, bits: int, flags: int, stream: Stream) -> _Operation:
    """A wait, checked.

    Raises:
        Failure: INVALID_VALUE; NOT_SUPPORTED, the device's memory is not the host's, or the stream
            has no thread of its own.
    """
    device = stream.context.device
    if flags & _FLUSH:
        fail(NOT_SUPPORTED, "no device of gridlane has remote writes to flush")
    if flags >= len(_COMPARISONS):
        fail(INVALID_VALUE, f"waiting with the flags {flags:#x}")
    _check_address(address, bits, stream)
    if not device.host_visible:
        fail(NOT_SUPPORTED, f"streams of {device.name} wait for events, not for memory")
    operation = _Operation(address, value & (1 << bits) - 1, bits, _COMPARISONS[flags])
    is_callers = stream.native.inline and not stream.native.capturing
    # Its work is the caller's, who is then not there to write the word.
    if is_callers and not (_others_are_done() and _holds(operation)):
        fail(NOT_SUPPORTED, "the default stream works on the caller: wait in another stream")
    return operation


def _holds(operation: _Operation) -> bool:
    assert operation.compare is not None
    return operation.compare(
        _word(operation.address, operation.bits).value, operation.value, operation.bits
    )


_waits: dict[HostQueue, _Operation] = {}
"""What the thread of each stream waits for."""


def _others_are_done() -> bool:
    """Wait for the work of other streams. False if all of it waits for words that none of it
    writes: the caller may write them, so it must not wait then."""
    while busy := busy_queues():
        if all(map(_is_stuck, busy)):
            return False
        time.sleep(_SHORTEST)
    return True


def _is_stuck(queue: HostQueue) -> bool:
    """Whether a stream waits for a word, or for a stream that does."""
    met: set[HostQueue] = set()
    following: HostQueue | None = queue
    while following is not None and following not in met:
        met.add(following)
        wait = _waits.get(following)
        if wait is not None:
            return not _holds(wait)
        following = following.waits_for
    return False


def _wait(operation: _Operation) -> None:
    """Wait until a word compares, or the process is at its end."""
    queue = own_queue()
    if queue is not None:
        _waits[queue] = operation
    try:
        _look(operation)
    finally:
        if queue is not None:
            del _waits[queue]


def _look(operation: _Operation) -> None:
    spins, pause = _SPINS, _SHORTEST
    while not _holds(operation) and not endings.over():
        if spins:
            spins -= 1
            continue
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST)


def _write(operation: _Operation) -> None:
    _word(operation.address, operation.bits).value = operation.value


def _append(stream: Stream, operation: _Operation) -> None:
    """Append an operation to a stream."""
    if operation.compare is not None:
        stream.native.submit(lambda: _wait(operation))
    elif stream.context.device.host_visible:
        stream.native.submit(lambda: _write(operation))
    else:
        data = operation.value.to_bytes(operation.bits // 8, "little")
        stream.native.upload(operation.address, memoryview(data), data)


def write_word(handle: int, address: int, value: int, bits: int, flags: int) -> None:
    """Write a word, after the work that is in a stream."""
    stream = streams.stream(handle)
    _append(stream, _writing(address, value, bits, flags, stream))


def wait_for_word(handle: int, address: int, value: int, bits: int, flags: int) -> None:
    """Order later work of a stream behind a condition on a word."""
    stream = streams.stream(handle)
    _append(stream, _waiting(address, value, bits, flags, stream))


@implements("cuStreamBatchMemOp_v2", "cuStreamBatchMemOp")
def batch(stream: int, count: int, first: Struct | None, flags: int) -> None:
    """Write words and wait for words, in their order; none is done if one is refused."""
    target = streams.stream(stream)
    if flags or count > _MOST or (first is None and count):
        fail(INVALID_VALUE, f"{count} operations with the flags {flags}; the most are {_MOST}")
    operations: list[_Operation] = []
    step = layout("CUstreamBatchMemOpParams").size
    for n in range(count):
        assert first is not None  # checked above
        each = Struct("CUstreamBatchMemOpParams", first.address + n * step)
        operation = _one(each, target)
        if operation is not None:
            operations.append(operation)
    for operation in operations:
        _append(target, operation)


def _one(each: Struct, stream: Stream) -> _Operation | None:
    """An operation of a batch, checked; None for one that the order of a stream makes needless."""
    kind = each.operation
    if kind in (_WAIT_32, _WAIT_64):
        of, bits = each.waitValue, 32 if kind == _WAIT_32 else 64
        value = of.value if bits == 32 else of.value64
        return _waiting(of.member("address"), value, bits, of.flags, stream)
    if kind in (_WRITE_32, _WRITE_64):
        of, bits = each.writeValue, 32 if kind == _WRITE_32 else 64
        value = of.value if bits == 32 else of.value64
        return _writing(of.member("address"), value, bits, of.flags, stream)
    if kind == _FLUSH_REMOTE:
        fail(NOT_SUPPORTED, "no device of gridlane has remote writes to flush")
    barriers = enums()["CUstreamMemoryBarrier_flags"].values.values()
    if kind != _BARRIER or each.memoryBarrier.flags not in barriers:
        fail(INVALID_VALUE, f"no operation has the number {kind}, or its flags are unknown")
    return None
