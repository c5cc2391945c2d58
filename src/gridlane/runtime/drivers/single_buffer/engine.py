"""The interface of a shader library to a device whose memory is buffers of words.

Addresses are those of ``core.shader_abi``; they and sizes are in bytes, in multiples of 4, unless
stated otherwise.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from gridlane.core.artifact import Artifact
from gridlane.core.features import Feature
from gridlane.core.frozen import frozen
from gridlane.runtime.protocol import Limits

SPIN_NS = 100_000
"""How long ``Engine.poll`` may keep the processor, in nanoseconds."""
FIRST_ALONE = (0,)
"""The buffers of a launch whose arrays are all in the first one."""


class Dispatch(NamedTuple):
    """Run blocks of a program.

    Attributes:
        program: the result of ``Engine.program``.
        launch, params: offsets of the launch words and the parameter block in what ``submit`` gets.
        x, y, z: blocks along each axis, within the device's limit on a dispatch.
        buffers: the numbers of the buffers that are bound as memory, as many as the program has.
    """

    program: Any
    launch: int
    params: int
    x: int
    y: int
    z: int
    buffers: tuple[int, ...] = FIRST_ALONE


class Write(NamedTuple):
    """Copy bytes of the host to an address. ``keep`` lives until then."""

    target: int
    source: memoryview
    keep: object = None


class Read(NamedTuple):
    """Copy ``size`` bytes from an address to the host, and keep those after the first ``skip``. The
    object ``keep`` lives until then."""

    source: int
    size: int
    target: memoryview
    skip: int
    keep: object = None


class Stamp(NamedTuple):
    """Record the time when all earlier work is done. ``slot`` is a result of
    ``Engine.new_stamp``."""

    slot: Any


Command = Dispatch | Write | Read | Stamp


@frozen
class Facts:
    """The properties of a device.

    Attributes:
        name, kind, driver: in words.
        api: the version of the library's interface.
        software: whether it runs on the CPU.
        largest: the limit of a buffer in bytes, a multiple of 4.
        why: the reason of that limit.
        bindings: the limit of a program's buffers.
        step: the alignment of launch words and parameter blocks.
        dispatch: the largest dispatch along each axis, in blocks.
        clock: ``device`` or ``host``, the clock of events.
    """

    name: str
    kind: str
    driver: str
    api: str
    software: bool
    largest: int
    why: str
    bindings: int
    step: int
    dispatch: tuple[int, int, int]
    clock: str


class Engine(Protocol):
    """A device of a shader library. The caller holds the recorder's lock, except for ``poll``.

    Attributes:
        target, format, features: the compilation target.
        move, move_between: the kernels for copies and fills; see transfers.py.
    """

    target: str
    format: str
    features: frozenset[Feature]
    facts: Facts
    limits: Limits
    move: Artifact
    move_between: Artifact

    def resize(self, number: int, size: int) -> None:
        """Grow a buffer and keep its contents, or create it; with a size of 0, release it.

        Raises:
            DeviceError: OUT_OF_MEMORY; the buffer is unchanged.
        """
        ...

    def program(self, artifact: Artifact, dynamic_words: int) -> Any:
        """Compile a kernel. It lives as long as the object.

        Raises:
            DeviceError: INVALID_IMAGE, with the text's line.
        """
        ...

    def submit(self, commands: list[Command], arena: memoryview) -> None:
        """Submit commands in order; the arena may change on return."""
        ...

    def fence(self) -> Any:
        """A point after the work so far."""
        ...

    def poll(self, fence: Any, ns: int) -> bool:
        """Whether the work before a fence is done, after ``ns`` at most; for more than ``SPIN_NS``
        without keeping the processor."""
        ...

    def new_stamp(self) -> Any:
        """Storage for a time, for the lifetime of the object."""
        ...

    def nanoseconds(self, stamp: Any) -> int:
        """A recorded time, on a clock of its own."""
        ...

    def end(self) -> None:
        """Release everything; nothing may be in flight."""
        ...
