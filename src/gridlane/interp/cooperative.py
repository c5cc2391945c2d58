"""Run the blocks of a cooperative grid, each on a thread of its own.

One block runs at a time, in order, until it waits or ends, so that every run of a kernel does the
same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from gridlane.core.errors import KernelError
from gridlane.core.source import describe
from gridlane.interp.state import Launch, Shape
from gridlane.ir.op import Op
from gridlane.ir.ops.grid import GridSync
from gridlane.ir.values import Module


def waits_for_grid(module: Module) -> bool:
    """Whether a kernel has a grid-wide barrier."""
    functions = module.functions.values()
    return any(isinstance(op, GridSync) for f in functions for op in f.body.walk())


class _Stopped(BaseException):
    """Unwind a waiting block after the grid has failed."""


class Seat:
    """The thread of a block, or of a warp: ``go`` resumes it, ``back`` returns control.
    ``waiting`` is the op at which it waits, ``error`` the exception that it ended with."""

    def __init__(self, index: Shape, run: Callable[[Shape], None]) -> None:
        self.index = index
        self.run = run
        self.go, self.back = threading.Semaphore(0), threading.Semaphore(0)
        self.waiting: Op | None = None
        self.stopped = self.done = False
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._main, daemon=True)
        self.thread.start()

    def _main(self) -> None:
        self.go.acquire()
        try:
            if not self.stopped:
                self.run(self.index)
        except _Stopped:
            pass
        except BaseException as error:
            self.error = error
        self.waiting, self.done = None, True
        self.back.release()

    def turn(self) -> None:
        """Run until the block waits or ends."""
        self.go.release()
        self.back.acquire()

    def wait(self, op: Op) -> None:
        """Return control, on the block's thread, until the next ``turn``."""
        self.waiting = op
        self.back.release()
        self.go.acquire()
        if self.stopped:
            raise _Stopped

    def stop(self) -> None:
        """End a block that waits or has not begun."""
        self.stopped = True
        self.turn()
        self.thread.join()


class Meeting:
    """Schedule the blocks of a grid; ``run_block`` runs one to its end."""

    def __init__(self, launch: Launch, run_block: Callable[[Shape], None]) -> None:
        self.launch, self.run_block = launch, run_block
        self.seats: dict[Shape, Seat] = {}
        launch.meet = lambda index, op: self.seats[index].wait(op)

    def run(self, indices: list[Shape]) -> None:
        """Run all blocks to their ends.

        Raises:
            KernelError: they wait at different barriers.
        """
        for index in indices:
            self.seats[index] = Seat(index, self.run_block)
        running = list(self.seats.values())
        try:
            while running:
                running = self._round(running)
        finally:
            self.launch.stopped = True  # also for a block in an endless loop
            for seat in running:
                if not seat.done:
                    seat.stop()

    def _round(self, running: list[Seat]) -> list[Seat]:
        """Run each block until it waits or ends; return the waiting ones."""
        for seat in running:
            seat.turn()
            if seat.error is not None:
                raise seat.error
        waiting = [seat for seat in running if not seat.done]
        if self.launch.error is None:
            for other in waiting[1:]:
                if other.waiting is not waiting[0].waiting:
                    raise _missed(waiting[0], other)
        return waiting


def _missed(first: Seat, second: Seat) -> KernelError:
    op, other = first.waiting, second.waiting
    assert op is not None and other is not None
    text = (
        f"{op.name}: not all threads of the grid reach this barrier: block {first.index} does, "
        f"block {second.index} waits at the one at {other.loc} (at {op.loc})"
    )
    return KernelError("\n".join(filter(None, (text, describe(op.loc), describe(other.loc)))))
