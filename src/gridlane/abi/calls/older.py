"""Older versions of functions, which programs in C find by their exported names."""

from __future__ import annotations

from gridlane.abi.calls import contexts
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, fail


@implements("cuCtxCreate_v3")
def create_3(affinities: object, count: int, flags: int, ordinal: int) -> int:
    """Create a context with all of its device, and make it current."""
    if count:
        fail(INVALID_VALUE, "a context has no part of a device to itself here")
    return contexts.created(flags, ordinal)
