"""The memory that a step reads and writes."""

from __future__ import annotations

import dataclasses

import numpy as np

from gridlane.actors.layouts.blocks import MessageHeader
from gridlane.actors.layouts.python import dtype_of
from gridlane.actors.layouts.step import Output
from gridlane.core import numpy_types
from gridlane.core.argtypes import ArrayType, RecordType

HEADER_BYTES = MessageHeader.size
OUTPUT_BYTES = Output.size

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
    """An emitted message: ``Output`` and the bytes of the payload."""
    fields = [each for each in Output.fields if each.name != "reserved"]
    return np.dtype(
        {
            "names": [*[each.name for each in fields], "payload"],
            "formats": [*[dtype_of(each.type) for each in fields], (np.uint8, (tier,))],
            "offsets": [*[each.offset for each in fields], OUTPUT_BYTES],
            "itemsize": OUTPUT_BYTES + tier,
        }
    )


def array_of(dtype: np.dtype) -> ArrayType:
    """The type of a 1-d array of a dtype, contiguous."""
    return ArrayType(numpy_types.from_numpy(dtype), 1, "C")
