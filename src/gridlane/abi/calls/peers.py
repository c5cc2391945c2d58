"""Devices that use each other's memory: none of gridlane's do."""

from __future__ import annotations

from typing import NoReturn

from gridlane.abi import raw
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_CONTEXT, INVALID_DEVICE, INVALID_VALUE, fail
from gridlane.abi.state import contexts, devices
from gridlane.core.cuda_table import enums

_UNSUPPORTED, _NOT_ENABLED = 217, 705
"""CUDA_ERROR_PEER_ACCESS_UNSUPPORTED and CUDA_ERROR_PEER_ACCESS_NOT_ENABLED."""


@implements("cuDeviceCanAccessPeer", "cudaDeviceCanAccessPeer")
def can_access(ordinal: int, peer: int) -> int:
    """Whether a device can use another's memory: 0."""
    devices.device(ordinal)
    devices.device(peer)
    return 0


@implements("cuCtxEnablePeerAccess")
def enable(peer: int, flags: int) -> NoReturn:
    """Fail: no device uses the memory of another."""
    if flags:
        fail(INVALID_VALUE, f"the flags are 0, not {flags}")
    here, there = contexts.current(), contexts.handles.find(peer)
    if there is None or there is here:
        fail(INVALID_CONTEXT, f"{peer:#x} is no context, or the current one")
    _refuse(_UNSUPPORTED, here.ordinal, there.ordinal)


@implements("cudaDeviceEnablePeerAccess")
def enable_by_number(peer: int, flags: int) -> NoReturn:
    """Fail: no device uses the memory of another."""
    if flags:
        fail(INVALID_VALUE, f"the flags are 0, not {flags}")
    devices.device(peer)
    _refuse(INVALID_DEVICE, contexts.current().ordinal, peer)


def _refuse(number: int, here: int, there: int) -> NoReturn:
    fail(number, f"device {here} cannot use memory of device {there}: copy through the host")


@implements("cuCtxDisablePeerAccess")
def disable(peer: int) -> NoReturn:
    """Fail: no device uses the memory of another."""
    contexts.current()
    if contexts.handles.find(peer) is None:
        fail(INVALID_CONTEXT, f"{peer:#x} is no context")
    fail(_NOT_ENABLED, "the memory of the other context was not enabled")


@implements("cudaDeviceDisablePeerAccess")
def disable_by_number(peer: int) -> NoReturn:
    """Fail: no device uses the memory of another."""
    devices.device(peer)
    fail(_NOT_ENABLED, f"the memory of device {peer} was not enabled")


def _check_two(first: int, second: int) -> None:
    """Raise INVALID_DEVICE unless the numbers are of two devices."""
    devices.device(first)
    devices.device(second)
    if first == second:
        fail(INVALID_DEVICE, f"device {first} is no peer of itself")


@implements("cuDeviceGetP2PAttribute", "cudaDeviceGetP2PAttribute")
def get_attribute(number: int, first: int, second: int) -> int:
    """What the link of two devices does: nothing, 0."""
    if number not in enums()["CUdevice_P2PAttribute"].values.values():
        fail(INVALID_VALUE, f"no attribute of links has the number {number}")
    _check_two(first, second)
    return 0


@implements("cuDeviceGetP2PAtomicCapabilities", "cudaDeviceGetP2PAtomicCapabilities")
def get_atomics(operations: int, count: int, first: int, second: int) -> tuple[list[int]]:
    """What atomics the link of two devices does: none."""
    if not operations or not count:
        fail(INVALID_VALUE, "no operations")
    known = enums()["CUatomicOperation"].values
    for each in raw.numbers(operations, count):
        if each not in known.values() or each == known["CU_ATOMIC_OPERATION_MAX"]:
            fail(INVALID_VALUE, f"no atomic operation has the number {each}")
    _check_two(first, second)
    return ([0] * count,)
