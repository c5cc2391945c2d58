"""The memory that a step reads and writes. engine/layout.h has the same constants."""

from __future__ import annotations

import dataclasses

import numpy as np

from gridlane.actors.layouts.blocks import MessageHeader
from gridlane.core import numpy_types
from gridlane.core.argtypes import ArrayType, RecordType

FIRST, COUNT, HANDLED, EMITTED = range(4)
"""The words of ``info``: the index of the first message, the number of messages, of handled ones,
and of outputs."""
INFO_WORDS = 16

REPLY, SEND, PUBLISH = 1, 2, 3
"""Kinds of outputs."""

HEADER_BYTES = MessageHeader.size
OUTPUT_BYTES = 32

EMPTY = np.dtype([("nothing", np.int32)])
"""The state of an actor that has none."""


def slot_dtype(payload: np.dtype, tier: int) -> np.dtype:
    """A slot of an inbox, as a handler sees it: the time of its message, and the payload."""
    return np.dtype(
        {
            "names": ["physical", "payload"],
            "formats": [np.int64, payload],
            "offsets": [MessageHeader["clock"].offset, HEADER_BYTES],
            "itemsize": HEADER_BYTES + tier,
        }
    )


def slot_type(record: RecordType, tier: int) -> ArrayType:
    """The type of an inbox's slots whose payload is a message of a class."""
    dtype = slot_dtype(record.numpy, tier)
    slot_record = numpy_types.from_numpy(dtype)
    assert isinstance(slot_record, RecordType)
    first, (name, _, offset) = slot_record.fields
    return ArrayType(
        dataclasses.replace(slot_record, fields=(first, (name, record, offset))), 1, "C"
    )


def output_dtype(tier: int) -> np.dtype:
    """An emitted message: ``gl_output`` of engine/layout.h, and the bytes of the payload."""
    names = ["kind", "message", "type", "key", "payload_bytes", "payload"]
    return np.dtype(
        {
            "names": names,
            "formats": [np.uint32, np.uint32, np.uint64, np.uint64, np.uint32, (np.uint8, (tier,))],
            "offsets": [0, 4, 8, 16, 24, OUTPUT_BYTES],
            "itemsize": OUTPUT_BYTES + tier,
        }
    )


def array_of(dtype: np.dtype) -> ArrayType:
    """The type of a 1-d array of a dtype, contiguous."""
    return ArrayType(numpy_types.from_numpy(dtype), 1, "C")
