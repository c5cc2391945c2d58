"""A launched lattice: its lifecycle, its steps, messages to it, its fields."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import numpy as np

from gridlane.actors.device.using import using
from gridlane.actors.errors import ActorError, StateError
from gridlane.actors.lattices.launched_lattice import Running
from gridlane.actors.lattices.resident import Resident
from gridlane.actors.local.register import Register
from gridlane.actors.values.states import State
from gridlane.core.forks import fork_waits


class LatticeRef(Running):
    """A launched lattice; ``Runtime.lattice`` makes one. Any thread may use it.

    Attributes:
        lattice: the lattice that was launched.
        mode: how it steps: ``"launches"``, one a step, or ``"resident"``, where blocks keep their
            tiles in shared memory and exchange halos.
        id: its number among the actors of its runtime.
        failure: the error that ended it.
    """

    def __repr__(self) -> str:
        return f"<lattice {self.name} of {self.shape}, {self.state}, {self.steps} steps>"

    @property
    def blocks(self) -> tuple[int, ...] | None:
        """The resident blocks along each axis; None where there are none."""
        resident = self._resident
        return None if resident is None else resident.tiles.blocks[3 - self.lattice.axes :]

    def metrics(self) -> dict[str, int]:
        """Counters, with the names of actors' and ``"steps"``, the requested steps. It waits for
        nothing, so messages that count as waiting may be handled already."""
        resident = self._resident
        waiting = len(self._messages)
        if resident is not None:
            waiting = resident.orders.posted - resident.orders.handled
        return {
            "received": self._posted - waiting,
            "emitted": 0,
            "failed": int(self.failure is not None),
            "dead": 0,
            "waiting": waiting,
            "unread": 0,
            "inbox_high": 0,
            "outbox_high": 0,
            "restarts": 0,
            "steps": self._steps,
        }

    def routes(self) -> np.ndarray[Any, Any]:
        """The routing table of each resident block, records of ``layouts.blocks.RoutingTable``.

        Raises:
            ActorError: there are no resident blocks.
        """
        blocks = self._blocks_of("routing tables")
        with fork_waits(), self._lock, using(self.device):
            self._settle()
            return blocks.routes()

    def headers(self) -> np.ndarray[Any, Any]:
        """The header of the halo that each resident block has received last from each direction,
        records of ``layouts.blocks.HaloHeader``, (blocks, directions).

        Raises:
            ActorError: there are no resident blocks.
        """
        blocks = self._blocks_of("halos")
        with fork_waits(), self._lock, using(self.device):
            self._settle()
            return blocks.headers()

    def _blocks_of(self, what: str) -> Resident:
        if self._resident is None:
            raise ActorError(f"{self.name} has no {what}: its mode is {self.mode}")
        return self._resident

    # --- lifecycle ---

    def activate(self) -> None:
        """Allow it to take steps; StateError where it is neither launched nor deactivated."""
        self._move("activate")

    def deactivate(self) -> None:
        """Allow it neither steps nor messages."""
        self._move("deactivate")

    def suspend(self) -> None:
        """Allow it no steps, and messages still."""
        self._move("suspend")

    def resume(self) -> None:
        """Allow it to step again after ``suspend``."""
        self._move("resume")

    def terminate(self) -> None:
        """End it and release its memory; StateError where it has ended."""
        self._move("terminate")
        try:
            self.wait()
            with fork_waits(), self._lock, using(self.device):
                self._settle()
        finally:
            self._end()

    # --- steps and messages ---

    def step(self, count: int = 1) -> int:
        """Take steps; on devices with queues they may be in flight when this returns.

        Messages that other threads post meanwhile are handled between two of them.

        Returns:
            the number of steps since the launch.

        Raises:
            StateError: it is not active, or stops being so.
            ActorError: on a CPU, a step has not ended within the watchdog's time.
        """
        if not isinstance(count, int) or count < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"step({count!r}) takes a number of steps")
        left = count
        while left:
            if self.wanted:
                time.sleep(20e-6)  # a checkpoint is about to be taken
            with fork_waits(), self._lock, using(self.device):
                self._require(State.ACTIVE)
                if self._resident is None:
                    self._handle()
                left -= self._some_steps(left)
        return self._steps

    def post(self, message: Any) -> int:
        """Post a message; return the number of the step before which its handler runs, as
        ``ctx.step`` has it.

        Raises:
            TypeError: there is no handler of its class.
            StateError: it accepts no messages.
        """
        if type(message) not in self.lattice.handlers:
            known = ", ".join(cls.__qualname__ for cls in self.lattice.handlers) or "no messages"
            raise TypeError(f"{self.name} handles {known}, not {type(message).__qualname__}")
        with fork_waits(), self._lock:
            self._require(State.LAUNCHED, State.ACTIVE, State.SUSPENDED)
            self._posted += 1
            if self._resident is None:
                self._messages.append(message)
            else:
                with using(self.device):
                    self._resident.post(message, self._steps)
            return self._steps

    def adopt(
        self,
        values: dict[str, np.ndarray[Any, Any]],
        state: bytes,
        steps: int,
        posted: int,
        epoch: int,
        lifecycle: State,
    ) -> None:
        """Continue at the position of another lattice."""
        self.write(**values)
        with fork_waits(), self._lock, using(self.device):
            if self.lattice.state is not None:
                self._memory.write_state(state)
            self._steps, self._posted = steps, posted
            if self._resident is not None:
                self._resident.adopt(steps, epoch)
            self._state = lifecycle

    # --- fields and state ---

    def write(self, **fields: Any) -> None:
        """Replace fields, between two steps.

        Args:
            fields: arrays of the lattice's shape, or one number for all cells.

        Raises:
            ValueError: it has no such field, or the array has another shape.
            TypeError: the values do not fit the field's type.
        """
        kinds = dict(self.lattice.fields)
        arrays: dict[str, Any] = {}
        for name, values in fields.items():
            if name not in kinds:
                raise ValueError(f"{self.lattice.name} has the fields {', '.join(kinds)}: {name}")
            given = np.asarray(values)
            if given.shape not in ((), self.shape):
                raise ValueError(f"{name} has the shape {self.shape}, not {given.shape}")
            if not np.can_cast(given.dtype, kinds[name].numpy, "same_kind"):
                raise TypeError(f"{name} has values of {kinds[name]}, not of {given.dtype}")
            whole = np.broadcast_to(given.astype(kinds[name].numpy), self.shape)
            arrays[name] = whole.reshape(self.space.extents)
        with fork_waits(), self._lock, using(self.device):
            self._require(State.LAUNCHED, State.ACTIVE, State.SUSPENDED, State.DEACTIVATED)
            # Fields that share a buffer come last: they take the boundary of the other.
            self._settle()
            for name in sorted(arrays, key=lambda each: each in self.lattice.reads.kept):
                self._memory.write(name, arrays[name])

    def read(self, name: str) -> np.ndarray[Any, Any]:
        """A field after all steps so far, as a new array of the lattice's shape.

        Raises:
            ValueError: it has no such field.
            KernelError: the function of a cell raised this.
        """
        known = [each for each, _ in self.lattice.fields]
        if name not in known:
            raise ValueError(f"{self.lattice.name} has the fields {', '.join(known)}, not {name}")
        with fork_waits(), self._lock, using(self.device):
            self._require(State.LAUNCHED, State.ACTIVE, State.SUSPENDED, State.DEACTIVATED)
            self._settle()
            return self._memory.read(name).reshape(self.shape)

    def read_state(self) -> Any:
        """The state as a value of its class, with the messages that are posted so far.

        Raises:
            ActorError: it has none.
        """
        shape = self.lattice.state
        if shape is None:
            raise ActorError(f"{self.lattice.name} has no state")
        with fork_waits(), self._lock, using(self.device):
            self._require(State.LAUNCHED, State.ACTIVE, State.SUSPENDED, State.DEACTIVATED)
            self._handle()
            return shape.unpack(self._memory.read_state())

    def write_state(self, value: Any) -> None:
        """Replace the state, between two steps."""
        shape = self.lattice.state
        if shape is None or type(value) is not shape.cls:
            raise TypeError(f"{value!r:.60} is no state of {self.lattice.name}")
        with fork_waits(), self._lock, using(self.device):
            self._require(State.LAUNCHED, State.ACTIVE, State.SUSPENDED, State.DEACTIVATED)
            self._handle()
            self._memory.write_state(bytes(value))


def end_lattices(register: Register[LatticeRef]) -> None:
    """Terminate the lattice, unless it has ended."""
    for each in register.all():
        with suppress(StateError, ActorError):  # the user has, or a step does not end
            each.terminate()
