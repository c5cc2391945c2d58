"""Launches that are repeated: on host devices one call makes them all."""

# pyright: reportPrivateUsage=false
# A batch is a part of the launches that it makes.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gridlane.cuda.kernels.argument_types import KEYS
from gridlane.cuda.kernels.launch import Configured
from gridlane.cuda.kernels.reading import Reading
from gridlane.cuda.kernels.routes import Views
from gridlane.launch import current
from gridlane.runtime.batches import Batch, GridLaunch
from gridlane.runtime.host_device import HostDevice, HostKernel
from gridlane.runtime.queues.default_stream_lock import TURNS
from gridlane.runtime.queues.host_queue import BUSY, turn, wait_for_ordered
from gridlane.runtime.queues.host_stream import LEFT, is_behind_waiting


class Repetition:
    """Launches with the same arguments as before, of arrays at the same addresses."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def has_run(self) -> bool:
        """Make the launches, or return that each is to be made alone. Hot."""
        batch = self._batch
        if not batch.may_run() or current.fusing():
            return False
        lock = TURNS.lock
        if BUSY:
            if LEFT or is_behind_waiting():
                return False
            wait_for_ordered()
            lock = turn()
        with lock:
            batch.run()
        return True


def repetition(launches: Sequence[tuple[Any, tuple[Any, ...]]]) -> Repetition | None:
    """The repetition of launches that were made before; None if each is to be made alone.

    Args:
        launches: of the default stream: kernels with their grids and blocks, and their arguments.
    """
    device = current.device()
    if not isinstance(device, HostDevice):
        return None
    made: list[GridLaunch] = []
    for launch, args in launches:
        reading = _reading_of(launch, args) if isinstance(launch, Configured) else None
        kernel = None if reading is None else reading.plan.kernel
        if reading is None or not isinstance(kernel, HostKernel):
            return None
        grid = launch.gx, launch.gy, launch.gz
        explain = launch.dispatcher.user_exception
        params = reading.read(*args)
        made.append(GridLaunch(kernel, params, grid, launch.sharedmem, explain))
    batch = device.batch(made)
    return None if batch is None else Repetition(batch)


def _reading_of(launch: Configured, args: tuple[Any, ...]) -> Reading | None:
    """What a launch knows of arguments like these, if it takes them as they are."""
    reading = launch._fast.get(tuple([KEYS[arg.__class__](arg) for arg in args]))
    return None if reading is None or isinstance(reading, Views) else reading
