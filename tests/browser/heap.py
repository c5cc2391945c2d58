"""The heap, parameter block and launch words of a kernel, by core/shader_abi.py."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tests.runtime.arrays import params

from gridlane.conformance.cases import Case
from gridlane.conformance.module_runner import Outcome, arguments, octets_of
from gridlane.core.artifact import Artifact
from gridlane.core.gpu_abi import ERROR_OFFSET, PRINT_CAPACITY_OFFSET, RECORDS_OFFSET

PRINT_BYTES = 1024
REPORT = 256
"""Where the report block is: nothing may be at 0, the null pointer."""
STEP = 256

Dispatch = Callable[[bytes, bytes, bytes], bytes]
"""From the heap, parameters and launch words to the heap behind the grid."""


def run(case: Case, artifact: Artifact, arrays: list[np.ndarray], dispatch: Dispatch) -> Outcome:
    """Run a case's kernel on copies of arrays."""
    at = REPORT + RECORDS_OFFSET + PRINT_BYTES
    places: list[int] = []
    for array in arrays:
        places.append(at)
        at += -(-max(1, array.nbytes) // STEP) * STEP
    heap = np.zeros(at, np.uint8)
    for place, array in zip(places, arrays, strict=True):
        heap[place : place + array.nbytes] = np.frombuffer(octets_of(np.array(array)), np.uint8)
    heap[REPORT + PRINT_CAPACITY_OFFSET :][:4].view(np.uint32)[0] = PRINT_BYTES
    block = params(artifact, *arguments(case.module, places, ())) or bytes(8)
    launch = np.array([0, 0, 0, *case.grid, REPORT, case.shared, 0], np.uint32).tobytes()
    after = np.frombuffer(dispatch(heap.tobytes(), block, launch), np.uint8)
    copies = [np.array(array) for array in arrays]
    for place, array in zip(places, copies, strict=True):
        octets = after[place : place + array.nbytes].tobytes()
        array[...] = np.frombuffer(octets, array.dtype).reshape(array.shape)
    return Outcome(copies, bool(after[REPORT + ERROR_OFFSET :][:4].view(np.uint32)[0]))
