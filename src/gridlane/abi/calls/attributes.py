"""Attributes of streams."""

from __future__ import annotations

from gridlane.abi.calls.registry import implements
from gridlane.abi.calls.streams import GREATEST, LEAST
from gridlane.abi.failure import INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.abi.state import streams
from gridlane.abi.state.streams import Stream
from gridlane.abi.struct import Struct
from gridlane.core.cuda_table import enums

_IDS = enums()["CUlaunchAttributeID"].values
_WINDOW, _WAITING, _PRIORITY, _DOMAINS, _DOMAIN = (
    _IDS[f"CU_LAUNCH_ATTRIBUTE_{name}"]
    for name in (
        "ACCESS_POLICY_WINDOW",
        "SYNCHRONIZATION_POLICY",
        "PRIORITY",
        "MEM_SYNC_DOMAIN_MAP",
        "MEM_SYNC_DOMAIN",
    )
)
_POLICIES = enums()["CUsynchronizationPolicy"].values.values()


def stream_attribute(stream: Stream, attribute: int) -> Struct:
    """An attribute of a stream."""
    struct = Struct("CUlaunchAttributeValue")
    if attribute == _PRIORITY:
        struct.priority = stream.priority
    elif attribute == _WAITING:
        struct.syncPolicy = stream.waiting
    elif attribute not in (_WINDOW, _DOMAIN):
        refuse(attribute)
    return struct  # no window, and the default domain


def refuse(attribute: int) -> None:
    """Raise the error of an attribute that streams do not have."""
    if attribute == _DOMAINS:
        fail(NOT_SUPPORTED, "the domains of memory cannot be mapped: there is one")
    fail(INVALID_VALUE, f"streams have no attribute with the number {attribute}")


@implements("cuStreamSetAttribute", "cudaStreamSetAttribute")
def set_(handle: int, attribute: int, value: Struct | None) -> None:
    """Set an attribute of a stream. How the host waits, and a priority, are left to the device; a
    window of the cache or a domain of memory that no device has is refused."""
    stream = streams.stream(handle)
    if value is None:
        fail(INVALID_VALUE, "no value")
    if attribute == _PRIORITY:
        stream.priority = max(GREATEST, min(LEAST, value.priority))
    elif attribute == _WAITING:
        if value.syncPolicy not in _POLICIES:
            fail(INVALID_VALUE, f"no policy has the number {value.syncPolicy}")
        stream.waiting = value.syncPolicy
    elif attribute == _WINDOW:
        if value.accessPolicyWindow.num_bytes:
            fail(INVALID_VALUE, "no device keeps a window of memory in its cache")
    elif attribute == _DOMAIN:
        if value.memSyncDomain:
            fail(NOT_SUPPORTED, "memory has one domain")
    else:
        refuse(attribute)


@implements("cuStreamCopyAttributes", "cudaStreamCopyAttributes")
def copy(to: int, source: int) -> None:
    """Copy the attributes of a stream to another one."""
    target, start = streams.stream(to), streams.stream(source)
    target.priority, target.waiting = start.priority, start.waiting
