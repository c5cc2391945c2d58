"""A launched lattice: its memory, its kernels, its lifecycle, waits for its steps."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gridlane.actors.device.using import using
from gridlane.actors.errors import ActorError, StateError
from gridlane.actors.lattices.lattice import Lattice
from gridlane.actors.lattices.memory import Memory
from gridlane.actors.lattices.resident import Resident
from gridlane.actors.lattices.space import Space
from gridlane.actors.lattices.stepping import Stepping
from gridlane.actors.lattices.stopper import Stopper
from gridlane.actors.lattices.watch import Watch
from gridlane.actors.values.states import State, after
from gridlane.core.errors import ArgumentError, LaunchError
from gridlane.core.forks import fork_waits
from gridlane.cuda.arrays.devicearray import DeviceNDArray

LEAKED: list[Any] = []
"""Lifetime: memory that kernels which never end use is never freed."""


class Running:
    """The internals of a launched lattice; ``LatticeRef`` is the users' interface."""

    def __init__(
        self,
        lattice: Lattice,
        device: Any,
        name: str,
        space: Space,
        args: tuple[Any, ...],
        resident: Resident | None,
        mode: str,
        number: int,
        watchdog: float | None,
    ) -> None:
        self.lattice, self.device, self.name, self.space = lattice, device, name, space
        self.id = number
        self._watch = Watch(name, watchdog)
        is_cpu = getattr(device, "is_plain", False)
        self._stopper: Stopper | None = None
        if is_cpu and watchdog is not None:
            self._stopper = Stopper(name, watchdog)
            weakref.finalize(self, self._stopper.end)
        self._posted = self._under_way = self.wanted = 0
        self._state = State.CREATED
        self.failure: BaseException | None = None
        self._lock = threading.RLock()
        self._messages: list[Any] = []
        self._steps = 0
        with using(device):
            self._args = tuple([_argument(lattice, each) for each in args])
            self._memory = Memory(
                lattice, space, device, resident.tiles.count if resident is not None else 1
            )
        self._stepping = Stepping(lattice, space, device)
        memory = self._memory
        if self._stepping.raises(memory.pairs, memory.state, self._args) and resident is not None:
            resident = self._none_resident(mode)
        if resident is not None:
            resident.attach(memory, self._args, self._watch)
        self._resident = resident
        self.mode = "launches" if resident is None else "resident"
        self._move("launch")

    def _none_resident(self, mode: str) -> None:
        """No resident kernel, for a lattice that may raise an error."""
        if mode == "resident":
            raise LaunchError(
                f"{self.lattice.name} may raise an error, and the blocks of a resident lattice "
                "would wait for a cell that has: launch it with mode='launches'"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """The cells along each axis."""
        return self.space.extents[3 - self.lattice.axes :]

    @property
    def state(self) -> State:
        """The state of its lifecycle."""
        return self._state

    @property
    def steps(self) -> int:
        """The number of requested steps so far."""
        return self._steps

    @property
    def has_ended(self) -> bool:
        """Whether it has ended."""
        return self._state is State.TERMINATED

    def _move(self, transition: str) -> None:
        with fork_waits(), self._lock:
            self._state = after(self.name, self._state, transition)

    def _end(self) -> None:
        with fork_waits(), self._lock, using(self.device):
            if self._resident is not None and self.failure is None:
                self._resident.end()
            self._resident = None
            if self._stopper is not None:
                self._stopper.end()
            del self._memory
            self._state = State.TERMINATED

    def _fail(self, error: ActorError) -> None:
        """End a lattice whose step does not end. Memory that blocks of a GPU use is never freed."""
        self.failure = error
        if self._stopper is None:
            LEAKED.append((self._memory, self._resident, self._args, self._stepping))
        self._end()

    def _require(self, *states: State) -> None:
        if self._state not in states:
            names = " or ".join(map(str, states))
            if self.failure is not None:
                raise self.failure.with_traceback(None)
            raise StateError(f"{self.name} is {self._state}; it must be {names} for that")

    # --- steps ---

    def _some_steps(self, count: int) -> int:
        """Take one step, or several where blocks stay on the device; returns the number."""
        memory = self._memory
        if self._resident is None:
            count = 1
            with self._stopping():
                self._stepping.launch(memory.pairs, memory.state, self._steps, self._args)
            memory.turn()
            self._under_way += 1
        else:
            self._resident.step(self._steps, count)
        self._steps += count
        return count

    def _handle(self) -> None:
        if self._resident is not None:
            self._settle()
        elif self._messages:
            messages, self._messages = self._messages, []
            with self._stopping():
                self._memory.handle(messages, self._steps)

    def wait(self) -> None:
        """Wait until all steps are done.

        Raises:
            KernelError: the function of a cell raised this.
            ActorError: a step has not ended within the watchdog's time, on a GPU or a CPU.
        """
        with fork_waits(), self._lock, using(self.device):
            if self.failure is not None:
                raise self.failure.with_traceback(None)
            with self._watched():
                if self._resident is not None:
                    self._resident.wait()
                else:
                    self._wait_for_launches()

    @contextmanager
    def _watched(self) -> Generator[None]:
        """End the lattice after the watchdog has found a step that does not end."""
        try:
            yield
        except ActorError as error:
            self._fail(error)
            raise

    @contextmanager
    def _stopping(self) -> Generator[None]:
        """End the lattice after its launch on the CPU, which blocks until it is done, was
        stopped."""
        if self._stopper is None:
            yield
            return
        with self._watched(), self._stopper.watching(self._steps):
            yield

    def _wait_for_launches(self) -> None:
        stream = self.device.default_stream
        if hasattr(self.device, "multiprocessors"):  # elsewhere a launch is done when it returns
            self._watch.begin()
            while not stream.query():
                self._watch.look(self._steps - self._under_way, self._steps, self._under_way)
                self._watch.rest()
        stream.synchronize()
        self._under_way = 0

    def _settle(self) -> None:
        """Make resident blocks leave, so that the fields are in their buffers."""
        with self._watched():
            if self._resident is not None:
                self._resident.settle()
            else:
                self._wait_for_launches()

    # --- for checkpoints ---

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arguments of its function behind the fields, on the device."""
        return self._args

    @property
    def posted(self) -> int:
        """The messages so far."""
        return self._posted

    @property
    def epoch(self) -> int:
        """The number of launches of its blocks; 0 where none stay."""
        return 0 if self._resident is None else self._resident.epoch

    def hold(self, timeout: float) -> bool:
        """Lock it against other threads until ``release``; returns whether it is locked."""
        self.wanted += 1
        try:
            return self._lock.acquire(timeout=timeout)
        finally:
            self.wanted -= 1

    def release(self) -> None:
        """Unlock it."""
        self._lock.release()

    def settled(self) -> tuple[dict[str, np.ndarray[Any, Any]], bytes]:
        """The fields and the bytes of the state, after all steps and messages so far."""
        with fork_waits(), self._lock, using(self.device):
            self._handle()
            self._settle()
            fields = {name: self._memory.read(name) for name, _ in self.lattice.fields}
            return fields, b"" if self.lattice.state is None else self._memory.read_state()


def _argument(lattice: Lattice, value: Any) -> Any:
    """An argument of the cell's function: arrays on the device, floats in the fields' type."""
    from gridlane import cuda

    if isinstance(value, np.ndarray):
        return cuda.to_device(value)
    if type(value) is float and lattice.cell.options.floats == "float32":
        return np.float32(value)
    known: Any = value
    if isinstance(value, (bool, int, float, np.generic, DeviceNDArray)):
        return known
    raise ArgumentError(
        f"{lattice.name}: arguments of a launch are numbers and arrays, not {value!r:.60}"
    )
