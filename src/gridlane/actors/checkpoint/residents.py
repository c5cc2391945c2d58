"""Messages of resident kernels: from their rings to a checkpoint, in the form of other actors'
messages, and back.

Such an actor's inbox is the host's ring and one ring for each actor that sends to it on the device.
The engine keeps what its kernel has sent and no receiver has (``there.kept()``). These messages
correspond to the outputs of another actor's step.
"""

from __future__ import annotations

import dataclasses
import heapq
import struct
from typing import Any

import numpy as np

from gridlane.actors.checkpoint.snapshot import SavedActor, SavedQueues
from gridlane.actors.layouts.step import REPLY, Output
from gridlane.actors.local.instance import Instance
from gridlane.actors.resident.channels import Channels
from gridlane.actors.values.dead import DeadLetter

_OUTPUT = struct.Struct("<" + "".join("IQ"[each.size == 8] for each in Output.fields))
_HEADER = DeadLetter.HEADER.itemsize
_HOPS = 0xFFFF


def queues_of(instance: Instance, channels: Channels) -> SavedQueues:
    """The messages of an actor that is held and dammed.

    Messages of one sender keep their order: the host's come first, because those of rings never
    precede them. Those of several rings are in the order of their clocks.
    """
    there, residence = instance.there, instance.residence
    assert residence is not None
    _, outbox, _, _ = there.queued()
    _, _, _, subscriber, _ = there.held_back()
    rings = heapq.merge(*channels.waiting(instance), key=_time)
    outputs, headers = list[bytes](), list[bytes]()
    for number, (kind, message) in enumerate(there.kept()):
        output, asked = _output_of(kind, number, message)
        outputs.append(output)
        headers.append(asked)
    _, _, high, out_high = there.lengths
    return SavedQueues(
        inbox=[*residence.waiting(), *rings],
        outbox=outbox,
        outputs=outputs,
        handled=len(outputs),
        headers=b"".join(headers),
        subscriber=subscriber,
        code=0,
        error="",
        highs=(high, out_high),
    )


def _header_of(message: bytes) -> Any:
    return np.frombuffer(bytearray(message[:_HEADER]), DeadLetter.HEADER)[0]


def _time(message: bytes) -> tuple[int, int]:
    clock = _header_of(message)["clock"]
    return int(clock["physical"]), int(clock["logical"])


def _output_of(kind: int, number: int, message: bytes) -> tuple[bytes, bytes]:
    """A kept message as an output, and the header of the message that caused it."""
    header = _header_of(message)
    size, key = int(header["payload_bytes"]), int(header["source"])
    asked = header.copy()
    asked["hops"] = max(int(header["hops"]) - 1, 0)
    asked["payload_bytes"] = asked["flags"] = 0
    if kind != REPLY:
        asked["source"] = asked["reply_to"] = 0
    named = 0 if kind == REPLY else key
    output = _OUTPUT.pack(kind, number, int(header["type"]), named, size, 0)
    return output + message[_HEADER:], asked.tobytes()


# ---- back


def load(instance: Instance, saved: SavedActor) -> None:
    """Put messages into a new actor, whose kernel does not run yet. It stays dammed.

    Raises:
        ValueError: they do not fit it.
    """
    there, queues = instance.there, settled(saved.queues)
    there.dam(1)
    if queues.code and not queues.inbox:
        raise ValueError("the message that failed is not there: the table does not fit the actor")
    there.load([], queues.outbox, [], 0, b"", queues.subscriber, 0, *queues.highs)
    for message in queues.inbox[1:] if queues.code else queues.inbox:
        there.put(message)
    for output in queues.outputs:
        there.put_kept(*_kept_of(output, queues.headers, saved.clock))


def settled(queues: SavedQueues) -> SavedQueues:
    """As above, with the headers of handled messages instead of those in the inbox."""
    if queues.headers or not queues.handled:
        return queues
    handled, left = queues.inbox[: queues.handled], queues.inbox[queues.handled :]
    if len(handled) < queues.handled:
        raise ValueError("the number of messages handled does not fit the actor")
    headers = b"".join([each[:_HEADER] for each in handled])
    return dataclasses.replace(queues, inbox=left, headers=headers)


def _kept_of(output: bytes, headers: bytes, clock: tuple[int, int, int]) -> tuple[int, bytes]:
    kind, number, type_number, key, size, _ = _OUTPUT.unpack_from(output)
    first = number * _HEADER
    if len(headers) < first + _HEADER or len(output) != _OUTPUT.size + size:
        raise ValueError("an output does not fit the actor")
    header = _header_of(headers[first : first + _HEADER])
    header["type"], header["payload_bytes"] = type_number, size
    header["hops"] = min(int(header["hops"]) + 1, _HOPS)
    header["flags"] = header["deadline"] = header["topic"] = 0
    header["clock"] = clock
    if kind != REPLY:
        header["source"], header["reply_to"] = key, 0
    return kind, header.tobytes() + output[_OUTPUT.size :]
