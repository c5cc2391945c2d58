"""Copies between host and device, within the device, and fills.

Libraries copy whole words. A small kernel, ``move``, copies partial words and keeps the other bytes
of the word: it is ordinary work in the queue, so it is in order.

``move(target, source, size, word)`` copies bytes from ``source``; a ``source`` of 0 sets them to
those of ``word``, byte n of memory to byte n % 4. The bytes must not overlap. Both are offsets in
one buffer. For ``move_between``, ``source`` is an offset in another buffer, which it binds as
``heap1``.
"""

from __future__ import annotations

from gridlane.core.artifact import Artifact
from gridlane.core.dtypes import u32
from gridlane.core.parameters import lay_out
from gridlane.runtime.drivers.single_buffer.engine import Read, Write
from gridlane.runtime.drivers.single_buffer.recorder import MOVE, THREADS, WordRecorder
from gridlane.runtime.queues.host_driven_context import Ordered
from gridlane.runtime.queues.host_driven_transfers import Transfers, refuse_place

SMALL = 4096
"""Copies of up to so many bytes stay in the list; larger ones are submitted at once."""


def move_kernel(
    target: str, format_: str, entry: str, text: str, between: bool = False
) -> Artifact:
    """The kernel ``move``, or ``move_between``, in the engine's language."""
    names = ("target", "source", "size", "word")
    slots, _ = lay_out((name, u32, n, ()) for n, name in enumerate(names))
    block, size = (THREADS, 1, 1), MOVE.size
    return Artifact(
        target,
        format_,
        text.encode(),
        entry,
        slots,
        size,
        block=block,
        kernel="move_between" if between else "move",
        buffers=(0, 1) if between else (),
    )


class WordTransfers(Transfers[WordRecorder, int]):
    """The copies of a device whose places are addresses."""

    def place(self, address: int, size: int) -> int:
        """The address, if the bytes are the device's."""
        if self._device.memory.find(address, size) is None:
            refuse_place(self._device.name, address, size)
        return address

    def needs_host(self, target: memoryview) -> bool:
        """Return False: the library copies to any memory."""
        return False

    def _upload(self, stream: Ordered, target: int, source: memoryview, keep: object) -> None:
        octets = source.cast("B")
        size = len(octets)
        first = min(size, -target % 4)
        last = max(first, size - (target + size) % 4)
        for start, end in ((0, first), (last, size)):
            if start < end:
                word = bytearray(4)
                for n in range(start, end):
                    word[(target + n) % 4] = octets[n]
                filled = int.from_bytes(word, "little")
                self._recorder.move(stream, target + start, 0, end - start, filled)
        if first < last:
            self._recorder.append(Write(target + first, octets[first:last], keep), stream)

    def _write(self, stream: Ordered, target: int, source: memoryview) -> None:
        small = source.nbytes <= SMALL
        self._upload(stream, target, memoryview(bytes(source)) if small else source, None)
        if not small:
            self._recorder.flush()

    def _download(self, stream: Ordered, target: memoryview, source: int, keep: object) -> None:
        octets, skip = target.cast("B"), source % 4
        size = -(-(skip + len(octets)) // 4) * 4
        self._recorder.append(Read(source - skip, size, octets, skip, keep), stream)

    def _read(self, stream: Ordered, target: memoryview, source: int) -> None:
        self._download(stream, target, source, None)
        self._recorder.flush()
