"""Dead letters: unhandled messages, and the reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gridlane.actors.errors import Reason
from gridlane.actors.layouts.blocks import MessageHeader
from gridlane.actors.layouts.python import dtype


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An unhandled message.

    Attributes:
        actor: the number of its receiver, or the key of a name that no actor has.
        reason: why it is dead.
        header: the message's header, a numpy record.
        payload: its bytes.
    """

    HEADER: ClassVar[np.dtype[np.void]] = dtype(MessageHeader)

    actor: int
    reason: Reason
    header: Any
    payload: bytes

    @property
    def data(self) -> bytes:
        """The header and the payload."""
        return self.header.tobytes() + self.payload

    def message(self, cls: Any) -> Any:
        """The payload as a value of a class; TypeError where it is of another."""
        shape = cls.__gridlane_shape__
        if shape.number != int(self.header["type"]):
            raise TypeError(f"the letter is no {cls.__qualname__}")
        return shape.unpack(self.payload)


def read_dead(actor: int, data: bytes) -> DeadLetter:
    """A dead letter of the engine's bytes."""
    header = np.frombuffer(bytearray(data[: MessageHeader.size]), DeadLetter.HEADER)[0]
    return DeadLetter(actor, Reason(int(header["reason"])), header, data[MessageHeader.size :])
