"""The lanes of a resident kernel's warp agree on words that others change meanwhile. Lanes may load
such a word one after the other; here some of them find another word at their own address."""

from __future__ import annotations

import numpy as np

from gridlane import cuda
from gridlane.actors.device.resident_parts import (
    Place,
    Way,
    is_open,
    order_of,
    room,
    room_seer_of,
)
from gridlane.actors.layouts import wire
from gridlane.cuda import int32, int64, uint32

ROUTES, RING, SIZE = 64, 1024, 1280
"""Where the parts of the memory begin, behind the orders; and its bytes."""
OTHERS = 20
"""The first lane that finds the other words."""

look_for_room = room_seer_of(False)


@cuda.jit
def looks(memory, places, results):
    """Read what a kernel branches on, each lane at its own address."""
    lane, zero = cuda.threadIdx.x, int64(0)
    start = memory + places[lane]
    place = Place(
        zero,
        start,
        zero,
        zero,
        zero,
        zero,
        start + ROUTES,
        zero,
        zero,
        zero,
        zero,
        int32(0),
        int32(0),
        zero,
        zero,
    )
    ring = start + RING + wire.INBOX_HEAD
    way = Way(zero, zero, int32(0), ring, int32(0), int32(1), int64(9), int32(0), zero, uint32(0))
    results[0, lane] = int32(order_of(place))
    results[1, lane] = 1 if is_open(place, 0) else 0
    results[2, lane] = look_for_room(way)
    results[3, lane] = room(place, int64(6), zero)


def words(order: int, taken: int, flags: int, head: int) -> np.ndarray:
    memory = np.zeros(SIZE, np.uint8)
    memory[:16].view(np.uint32)[:] = order, 0, taken, 0
    memory[ROUTES + wire.TABLE_HEAD + 16 :][:16].view(np.uint32)[3] = flags
    memory[RING + 16 :][:8].view(np.uint64)[0] = head
    return memory


def test_lanes_agree_on_words_that_change_between_their_loads():
    first, then = words(wire.STOP, 7, 0, 7), words(wire.RUN, 8, wire.IN_USE, 8)
    memory = cuda.to_device(np.concatenate([first, then]))
    places = np.where(np.arange(32) < OTHERS, 0, SIZE).astype(np.int64)
    results = cuda.to_device(np.zeros((4, 32), np.int64))
    address = np.int64(memory.device_ctypes_pointer.value)
    looks[1, 32](address, cuda.to_device(places), results)
    lanes = results.copy_to_host()
    assert lanes[:, 0].tolist() == [wire.STOP, 0, 0, 7]
    assert (lanes == lanes[:, :1]).all()
