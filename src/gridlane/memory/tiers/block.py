"""A block of a tiered array, and the bits of the places that may hold it."""

from __future__ import annotations

from typing import Any

import numpy as np

HOST, DISK, DEVICE, ZERO = 1, 2, 4, 8
"""Places of valid copies. ZERO holds each block that was never written, at no cost."""


class Block:
    """Bytes that move between the tiers as one. The lock of its ``Tiers`` guards all fields.

    Attributes:
        key: in the store.
        size: in bytes.
        itemsize: bytes of an element.
        valid: the bits of the places with a valid copy.
        ready: ``valid`` where a copy may be pinned at once; 0 while the block is in motion, and
            where it has a failure to report.
        host: the copy in host memory.
        buffer: the copy on a device, which ``device`` is.
        pins, device_pins: how often the copies are pinned.
        brief: those of ``pins`` whose holders never wait for anything.
        writers: how many of the pins are for writing; all are in one place.
        moving: the places that hold a copy during a motion; None if there is none.
        claimed: whether a thread is about to bring it somewhere.
        referenced: the bits of places in which it was used since the clock passed.
        failure: what a motion in the background met; the next use raises it.
        freed: whether its array has ended.
        fences: events after whose work the copy on the device is complete.
        stored: whether the store has the key, with this or older contents.
    """

    __slots__ = (
        "brief",
        "buffer",
        "claimed",
        "device",
        "device_pins",
        "failure",
        "fences",
        "freed",
        "host",
        "itemsize",
        "key",
        "moving",
        "pins",
        "ready",
        "referenced",
        "size",
        "stored",
        "valid",
        "writers",
    )

    def __init__(self, key: str, size: int, itemsize: int = 1) -> None:
        self.key, self.size, self.itemsize = key, size, itemsize
        self.valid = self.ready = ZERO
        self.host: np.ndarray | None = None
        self.buffer: Any = None
        self.device: Any = None  # a DevicePlace
        self.pins = self.device_pins = self.brief = self.writers = 0
        self.moving: tuple[Any, ...] | None = None
        self.claimed = self.freed = self.stored = False
        self.referenced = 0
        self.failure: BaseException | None = None
        self.fences: list[Any] = []

    def settle(self) -> None:
        """Set ``ready`` by the other fields."""
        still = self.moving is None and self.failure is None and not self.freed
        self.ready = self.valid if still else 0
