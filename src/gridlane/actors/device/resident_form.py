"""The form of a resident kernel: what its code and its shared memory depend on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridlane.actors.device import receiving, resident_times
from gridlane.actors.device.layout import OUTPUT_BYTES
from gridlane.actors.device.receiving import Shape
from gridlane.actors.layouts import wire
from gridlane.core import numpy_types
from gridlane.core.argtypes import RecordType

KEPT = 1024
"""Bytes of the largest state that is in shared memory while its actor runs."""


class Form(NamedTuple):
    """The parameters of a resident kernel.

    Attributes:
        message: the type of its messages.
        tier: bytes of the largest message that it may emit.
        emits: how many it may emit for one.
        threads: that handle a message together; 1, or a multiple of 32.
        lazy: whether the device's other lanes continue after the first one has failed, so that the
            kernel may publish the status of several messages at once.
        state: the type of its state, if it has one.
        far, near: as of ``receiving.Shape``.
        timed: whether it counts waits and handling times of messages.
        clustered: whether it is a block of a cluster, with warps of its own that read.
    """

    message: RecordType
    tier: int
    emits: int
    threads: int
    lazy: bool
    state: RecordType | None = None
    far: int = 8
    near: int = 8
    timed: bool = False
    clustered: bool = False

    @property
    def shape(self) -> Shape:
        """The shape of its messages in shared memory."""
        return receiving.shape_of(
            self.message.size, self.threads > 1, self.far, self.near, self.clustered
        )

    @property
    def chunks(self) -> int:
        """Chunks of a message in the inbox."""
        return self.shape.chunks

    @property
    def out_chunks(self) -> int:
        """Chunks of its largest own message."""
        return wire.chunks_of(max(self.tier, self.message.size))

    @property
    def answer_bytes(self) -> int:
        """Chunks of an answer's place."""
        return wire.slot_of(wire.answer_chunks(self.tier))

    @property
    def block(self) -> int:
        """Threads of its block: those that handle messages, and two warps that read them."""
        return 96 if self.shape.apart else self.threads if self.threads > 1 else 32

    @property
    def shared(self) -> int:
        """An upper bound of the bytes of shared memory."""
        arrivals = 4 * self.shape.words * self.shape.places
        counts = 8 * resident_times.WORDS if self.timed else 0
        outputs = self.emits * (self.tier + OUTPUT_BYTES + wire.HEADER.itemsize)
        return arrivals + counts + outputs + 4096

    @property
    def together(self) -> bool:
        """Whether several threads handle a message."""
        return self.threads > 1

    @property
    def wide(self) -> bool:
        """Whether several warps do."""
        return self.threads > 32

    @property
    def publishes_late(self) -> bool:
        """Whether it publishes the status of several messages at once."""
        return self.lazy and not self.together

    @property
    def kept(self) -> bool:
        """Whether the actor's state is in shared memory while it runs: where a failed thread does
        not end its whole block, so that other threads then copy the state back."""
        size = 0 if self.state is None else self.state.size
        return self.publishes_late and 0 < size <= KEPT and size % 4 == 0

    @property
    def state_words(self) -> int:
        """Words of the state."""
        return 0 if self.state is None else self.state.size // 4

    @property
    def behind(self) -> int:
        """The place of the first message of other actors, behind those of the host."""
        return self.shape.depth if self.shape.apart else 0

    @property
    def out_slot(self) -> int:
        """Bytes of a slot of the ring to the host."""
        return wire.slot_of(self.out_chunks)


def output_record(tier: int) -> RecordType:
    """An emitted message: as ``layout.output_dtype``, but with room for the message's header on the
    wire in front of the payload, so that one store sends both."""
    names = ["kind", "message", "type", "key", "payload_bytes", "payload"]
    dtype = np.dtype(
        {
            "names": names,
            "formats": [np.uint32, np.uint32, np.int64, np.int64, np.uint32, (np.uint8, (tier,))],
            "offsets": [0, 4, 8, 16, 24, OUTPUT_BYTES + wire.HEADER.itemsize],
            "itemsize": OUTPUT_BYTES + wire.HEADER.itemsize + tier,
        },
        align=True,
    )
    record = numpy_types.from_numpy(dtype)
    assert isinstance(record, RecordType)
    return record
