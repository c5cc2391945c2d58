"""The heap, parameter block and launch words of a kernel whose memory is an array of words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tests.devices import Outcome, arguments, octets_of, packed

from gridlane.core.gpu_abi import PRINT_CAPACITY_OFFSET, RECORDS_OFFSET

PRINT_BYTES = 1024
REPORT = 256
"""Where the report block is: nothing may be at 0, the null pointer."""

Dispatch = Callable[[bytes, bytes, bytes], bytes]
"""From the heap, parameters and launch words to the heap behind the grid."""


def run(artifact, dispatch: Dispatch, module, grid, arrays, shared: int) -> Outcome:
    """Run a kernel on copies of arrays."""
    at = REPORT + RECORDS_OFFSET + PRINT_BYTES
    places: list[int] = []
    for array in arrays:
        places.append(at)
        at += -(-max(1, array.nbytes) // 256) * 256
    heap = np.zeros(at, np.uint8)
    for place, array in zip(places, arrays, strict=True):
        heap[place : place + array.nbytes] = np.frombuffer(octets_of(np.array(array)), np.uint8)
    heap[REPORT + PRINT_CAPACITY_OFFSET :][:4].view(np.uint32)[0] = PRINT_BYTES
    params = packed(artifact, arguments(module, places, ())) or bytes(8)
    launch = np.array([0, 0, 0, *grid, REPORT, shared], np.uint32).tobytes()
    after = np.frombuffer(dispatch(heap.tobytes(), params, launch), np.uint8)
    copies = [np.array(array) for array in arrays]
    for place, array in zip(places, copies, strict=True):
        octets = after[place : place + array.nbytes].tobytes()
        array[...] = np.frombuffer(octets, array.dtype).reshape(array.shape)
    outcome = Outcome(copies, bool(after[REPORT + 4 :][:4].view(np.uint32)[0]))
    outcome.report = after[REPORT:].copy()  # type: ignore[attr-defined]  # for tests of printing
    return outcome
