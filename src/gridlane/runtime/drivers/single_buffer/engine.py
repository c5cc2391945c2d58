"""What a library of shaders does for a device whose memory is one buffer of words.

Offsets and sizes are bytes, in multiples of 4, of the arena unless something else is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from gridlane.core.artifact import Artifact
from gridlane.core.features import Feature
from gridlane.runtime.protocol import Limits
from gridlane.runtime.queues.host_driven_context import Poll


class Dispatch(NamedTuple):
    """Run blocks of a program.

    Attributes:
        program: what ``Engine.program`` gave.
        launch, params: where the launch words and the parameter block are in the arena.
        x, y, z: blocks along each axis, within what the device dispatches at once.
    """

    program: Any
    launch: int
    params: int
    x: int
    y: int
    z: int


class Write(NamedTuple):
    """Copy bytes of the host to the arena."""

    target: int
    source: memoryview


class Read(NamedTuple):
    """Copy ``size`` bytes of the arena to the host, and keep those behind the first ``skip``."""

    source: int
    size: int
    target: memoryview
    skip: int


class Stamp(NamedTuple):
    """Note the time when all is done that comes before. ``slot`` is of ``Engine.new_stamp``."""

    slot: Any


Command = Dispatch | Write | Read | Stamp


@dataclass(frozen=True, slots=True)
class Facts:
    """What a device is.

    Attributes:
        name, kind, driver: in words.
        api: the version of the library's interface.
        software: it runs on the CPU.
        largest: bytes that the arena may have, a multiple of 4.
        why: what sets that limit.
        step: what offsets in the arena are multiples of.
        dispatch: blocks along each axis that are dispatched at once.
        clock: ``device`` or ``host``, whose time events have.
    """

    name: str
    kind: str
    driver: str
    api: str
    software: bool
    largest: int
    why: str
    step: int
    dispatch: tuple[int, int, int]
    clock: str


class Engine(Protocol):
    """A device of a library. Its methods are called with the queue's lock held, but for ``wait``.

    Attributes:
        target, format, features: what code is made for.
        move: the kernel that copies and sets bytes; see transfers.py.
    """

    target: str
    format: str
    features: frozenset[Feature]
    facts: Facts
    limits: Limits
    move: Artifact

    def resize(self, size: int) -> None:
        """Make the arena larger; what is in it stays.

        Raises:
            DeviceError: OUT_OF_MEMORY; the arena is as it was.
        """
        ...

    def program(self, artifact: Artifact, dynamic_words: int) -> Any:
        """A kernel, compiled. It lives as long as the object.

        Raises:
            DeviceError: INVALID_IMAGE, with the text's line.
        """
        ...

    def submit(self, commands: list[Command], arena: memoryview) -> None:
        """Begin work, each command behind those before it; the arena may change on return."""
        ...

    def fence(self) -> Any:
        """A point behind the work so far."""
        ...

    def passed(self, fence: Any) -> bool:
        """Whether the work before a point is done."""
        ...

    def wait(self, fence: Any, poll: Poll) -> None:
        """Wait for it: by ``poll`` first, then blocked."""
        ...

    def new_stamp(self) -> Any:
        """Room for a time, for as long as the object lives."""
        ...

    def nanoseconds(self, stamp: Any) -> int:
        """A time that was noted, of a clock of its own."""
        ...

    def end(self) -> None:
        """Give everything back; nothing may be running."""
        ...
