"""The thread of some tiers that brings blocks ahead of their use, and writes dirty ones ahead of
their eviction."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue

from gridlane.core.errors import BlockInUse, TierFull
from gridlane.core.threads import start_thread
from gridlane.memory.tiers.block import HOST, Block
from gridlane.memory.tiers.manager import Manager
from gridlane.memory.tiers.motions import fetch, move_down
from gridlane.memory.tiers.places import Place

_Task = Callable[[Manager], object] | None


class Background:
    """The thread. It starts with the first task, and ends with the manager.

    Args:
        ahead: how many dirty blocks it keeps clean in front of the clock's hand; 0 for none.
    """

    def __init__(self, manager: Manager, ahead: int) -> None:
        self._manager = weakref.ref(manager, self._end)
        self.ahead = ahead
        self._tasks: SimpleQueue[_Task] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._cleans = False

    def _end(self, reference: object = None) -> None:
        self._tasks.put(None)

    def stop(self) -> None:
        """End the thread, after the tasks so far."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._end()
            if thread is not threading.current_thread():
                thread.join()

    def _add(self, task: _Task) -> None:
        manager = self._manager()
        assert manager is not None
        with manager.lock:
            if self._thread is None:
                arguments = self._manager, self._tasks
                self._thread = threading.Thread(
                    target=_run, args=arguments, daemon=True, name="gridlane tiers"
                )
                start_thread(self._thread)
        self._tasks.put(task)

    def bring(self, block: Block, place: Place) -> None:
        """Bring a block to a place. Nothing happens without room, or while a pin excludes it;
        another failure is raised at the next use of the block."""
        self._add(lambda manager: _bring(manager, block, place))

    def clean(self) -> None:
        """Write the blocks that will be evicted next."""
        if not self._cleans:
            self._cleans = True
            self._add(self._clean)

    def _clean(self, manager: Manager) -> None:
        self._cleans = False
        place = manager.host
        for _ in range(self.ahead):
            with manager.locked():
                block = next(
                    (
                        each
                        for each, _ in zip(place.ring, range(4 * self.ahead), strict=False)
                        if _is_old_and_dirty(manager, each)
                    ),
                    None,
                )
                if block is None:
                    return
                manager.begin(block)
            try:
                move_down(manager, block, place, keep=True)
            except Exception as error:
                _report(manager, block, error)
            else:
                manager.counters.cleaned += 1

    def wait(self) -> None:
        """Wait for the tasks so far."""
        done = threading.Event()
        self._add(lambda _: done.set())
        done.wait()


def _is_old_and_dirty(manager: Manager, block: Block) -> bool:
    if block.pins or block.moving is not None or block.claimed or block.failure is not None:
        return False
    return not block.referenced & HOST and not manager.droppable(block, manager.host)


def _report(manager: Manager, block: Block, error: Exception) -> None:
    with manager.locked():
        block.failure = error
        block.settle()


def _bring(manager: Manager, block: Block, place: Place) -> None:
    with manager.locked():
        unneeded = block.freed or block.failure is not None or block.valid & place.bit
        if unneeded or block.moving is not None or block.claimed or manager.closed:
            return
        block.claimed = True
    begun = False
    try:
        fetch(manager, block, place, write=False, fresh=False)
        begun = True
        manager.counters.prefetched += 1
    except (TierFull, BlockInUse):
        pass  # it was a hint
    except Exception as error:
        _report(manager, block, error)
    finally:
        manager.unclaim(block, begun)


def _run(manager: weakref.ref[Manager], tasks: SimpleQueue[_Task]) -> None:
    while (task := tasks.get()) is not None:
        target = manager()
        if target is None:
            return
        try:
            task(target)
            target.delete_keys()
        finally:
            del target, task
