"""Copies of planes of rows between contexts."""

from __future__ import annotations

from gridlane.abi.calls import copies
from gridlane.abi.failure import INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.abi.state import contexts, streams
from gridlane.abi.state.streams import Stream
from gridlane.abi.struct import Struct, members


def append(given: Struct | None, stream: int) -> Stream:
    """Append a copy as one of the current context, whose device both have."""
    if given is None:
        fail(INVALID_VALUE, "no description of the copy")
    target = streams.stream(stream)
    for each in (given.srcContext, given.dstContext):
        if contexts.of_handle(each).device is not target.context.device:
            fail(NOT_SUPPORTED, "copies between two devices go through the host: copy there first")
    box = Struct("CUDA_MEMCPY3D")
    for name in members(box):
        if not name.startswith("reserved"):
            setattr(box, name, getattr(given, name))
    return copies.box_copy(box, stream, True)
