"""Orders of the host to the blocks of a resident lattice, and their status, while the kernel
runs."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from gridlane import cuda
from gridlane.actors.lattices.lattice import Lattice
from gridlane.actors.layouts.blocks import ControlBlock
from gridlane.actors.layouts.python import dtype as numpy_dtype
from gridlane.actors.values.states import State

GOAL, POSTED, WISH = range(3)
"""Words of the orders: the step to reach, messages so far, whether to leave there."""
LAST = 2
"""Word of the relay: the step at which the blocks leave, plus 1; 0 for none."""
STEP, SEEN = range(2)
"""Words of a block's marks: the step that it has reached, the messages that it has handled."""
SLOTS = 64
"""Messages in flight."""
HEAD = 4
"""Words of 32 bits before a message's payload in a slot: its step in two, its class, 0."""
HEARTBEAT = ControlBlock["heartbeat"].offset // 8
RECEIVED = ControlBlock["received"].offset // 8
LEAVES = ControlBlock["state"].offset // 8


class Orders:
    """The memory that both sides map, and the blocks' copies of messages.

    The first block relays the orders to the others, and alone decides when all leave, so that all
    leave at one step. A message has the step before which it is handled: the goal at the time of
    the post, beyond which no block has gone.

    Attributes:
        classes: of messages, by their number in slots.

    Args:
        mapped: whether the device can map memory of the host; else the memory is copied before and
            after a launch, and the blocks do not stay.
    """

    def __init__(self, lattice: Lattice, blocks: int, mapped: bool) -> None:
        self.classes = list(lattice.handlers)
        records = [numpy_dtype(_shape(cls).layout) for cls in self.classes]
        self._words = HEAD + max((-(-each.itemsize // 4) for each in records), default=0)
        make: Any = cuda.mapped_array if mapped else np.zeros
        self.words: Any = make(4, np.uint64)
        self.control: Any = make(numpy_dtype(ControlBlock).itemsize // 8, np.uint64)
        self.marks: Any = make((blocks, 2), np.uint64)
        self.ring: Any = make((SLOTS, self._words), np.uint32)
        self.relay = cuda.to_device(np.zeros(4, np.uint64))
        sizes = [-(-each.itemsize // 4) * blocks for each in records]
        self.letters = tuple([cuda.to_device(np.zeros(size, np.uint32)) for size in sizes])
        self._ours = [self.words, self.control, self.marks, self.ring]
        for each in self._ours:
            each[...] = 0
        self._theirs = self._ours if mapped else [cuda.to_device(each) for each in self._ours]

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The arrays for the kernel."""
        return (*self._theirs, self.relay, *self.letters)

    @property
    def posted(self) -> int:
        """The messages so far."""
        return int(self.words[POSTED])

    @property
    def handled(self) -> int:
        """The messages that all blocks have handled."""
        return int(self.marks[:, SEEN].min())

    @property
    def has_room(self) -> bool:
        """Whether another message can be posted."""
        return self.posted - self.handled < SLOTS

    @property
    def step(self) -> int:
        """The step that all blocks have reached."""
        return int(self.marks[:, STEP].min())

    @property
    def left(self) -> bool:
        """Whether the blocks leave, or have left."""
        return int(self.control[LEAVES]) & 0xFFFFFFFF == State.DEACTIVATED.value

    def post(self, message: Any, step: int) -> None:
        """Post a message that is handled before a step; there is room."""
        slot = self.ring[self.posted % SLOTS]
        cls = cast("type[Any]", type(message))
        payload = np.frombuffer(bytes(message).ljust((len(slot) - HEAD) * 4, b"\0"), np.uint32)
        slot[HEAD:] = payload
        slot[:HEAD] = step & 0xFFFFFFFF, step >> 32, self.classes.index(cls), 0
        self.words[POSTED] += np.uint64(1)

    def begin(self, step: int, goal: int, stay: bool) -> int:
        """Prepare a launch from a step on; return the number of handled messages."""
        seen = int(self.marks[:, SEEN].max())
        self.words[GOAL], self.words[WISH] = goal, not stay
        self.marks[:, STEP] = step
        self.control[LEAVES] = State.ACTIVE.value
        self.relay.copy_to_device(np.array([step, seen, 0, 0], np.uint64))
        if self._theirs is not self._ours:
            for ours, theirs in zip(self._ours, self._theirs, strict=True):
                theirs.copy_to_device(ours)
        return seen

    def end(self) -> None:
        """Copy the blocks' status, where no memory is mapped: they have left."""
        if self._theirs is not self._ours:
            for ours, theirs in zip(self._ours, self._theirs, strict=True):
                ours[...] = theirs.copy_to_host()


def _shape(cls: Any) -> Any:
    return cls.__gridlane_shape__
