"""The attributes of launches. Both libraries have the same numbers and values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gridlane.abi.failure import INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.abi.state import streams
from gridlane.abi.state.streams import Event
from gridlane.abi.struct import Struct
from gridlane.core.cuda_table import enums, layout
from gridlane.launch.dimensions import Dim3

_PREFIX = "CU_LAUNCH_ATTRIBUTE_"
_NUMBERS = {
    name.removeprefix(_PREFIX): number
    for name, number in enums()["CUlaunchAttributeID"].values.items()
}
_NAMES = {number: name for name, number in _NUMBERS.items() if name != "MAX"}
_STEP = layout("CUlaunchAttribute").size
_MOST = 64
_NO_TIMING = 2


@dataclass(slots=True)
class Chosen:
    """The settings of a launch by its attributes.

    Attributes:
        cooperative: whether its blocks may wait for each other.
        cluster: blocks of a cluster along each axis; None if no attribute sets it.
        events: to record after it.
    """

    cooperative: bool = False
    cluster: Dim3 | None = None
    events: list[Event] = field(default_factory=list[Event])


def cooperative() -> Chosen:
    """The settings of a launch whose blocks may wait for each other."""
    return Chosen(cooperative=True)


def attributes_of(address: int, count: int) -> Chosen:
    """The settings of a launch by an array of attributes.

    Raises:
        Failure: INVALID_VALUE, there is no such attribute, or it has no such value; NOT_SUPPORTED,
            gridlane does not have it.
    """
    _check(address, count)
    chosen = Chosen()
    for n in range(count):
        each = Struct("CUlaunchAttribute", address + n * _STEP)
        name = _NAMES.get(each.id)
        if name is None:
            fail(INVALID_VALUE, f"no attribute of launches has the number {each.id}")
        reader = _READERS.get(name)
        if reader is not None:
            reader(chosen, each.value)
    return chosen


def _check(address: int, count: int) -> None:
    if (count and not address) or count > _MOST:
        fail(INVALID_VALUE, f"{count} attributes of a launch at {address:#x}")


def cluster_of(config: Struct) -> Dim3 | None:
    """The size of clusters that a configuration requests; None if it names none.

    Raises:
        Failure: INVALID_VALUE, the pointer to the attributes is null.
    """
    _check(config.attrs, config.numAttrs)
    for n in range(config.numAttrs):
        each = Struct("CUlaunchAttribute", config.attrs + n * _STEP)
        if each.id == _NUMBERS["CLUSTER_DIMENSION"]:
            size = each.value.clusterDim
            return size.x, size.y, size.z
    return None


def _cooperative(chosen: Chosen, value: Struct) -> None:
    chosen.cooperative = bool(value.cooperative)


def _cluster(chosen: Chosen, value: Struct) -> None:
    size = value.clusterDim.x, value.clusterDim.y, value.clusterDim.z
    if size == (0, 0, 0):
        return
    if min(size) < 1:
        fail(INVALID_VALUE, f"a cluster of {size} blocks")
    chosen.cluster = size


def _preferred_cluster(chosen: Chosen, value: Struct) -> None:
    # The device may launch the regular clusters instead, and does.
    size = value.preferredClusterDim
    if min(size.x, size.y, size.z) < 1:
        fail(INVALID_VALUE, f"a preferred cluster of {(size.x, size.y, size.z)} blocks")


def _programmatic_event(chosen: Chosen, value: Struct) -> None:
    _event(chosen, value.programmaticEvent.event)


def _completion_event(chosen: Chosen, value: Struct) -> None:
    _event(chosen, value.launchCompletionEvent.event)


def _event(chosen: Chosen, handle: int) -> None:
    """Record an event. It may happen as late as the kernel ends, and does."""
    event = streams.event(handle)
    if not event.flags & _NO_TIMING:
        fail(INVALID_VALUE, "the event of a launch is made with CU_EVENT_DISABLE_TIMING")
    chosen.events.append(event)


def _updatable(chosen: Chosen, value: Struct) -> None:
    if value.deviceUpdatableKernelNode.deviceUpdatable:
        fail(NOT_SUPPORTED, "nodes of graphs that kernels update")


def _policy(chosen: Chosen, value: Struct) -> None:
    fail(INVALID_VALUE, f"{_PREFIX}SYNCHRONIZATION_POLICY is an attribute of streams")


def _carveout(chosen: Chosen, value: Struct) -> None:
    if value.sharedMemCarveout > 100:
        fail(INVALID_VALUE, f"a carveout of {value.sharedMemCarveout} percent")


def _domain(chosen: Chosen, value: Struct) -> None:
    if value.memSyncDomain not in (0, 1):
        fail(INVALID_VALUE, f"no domain of memory has the number {value.memSyncDomain}")


_READERS: dict[str, Callable[[Chosen, Struct], None]] = {
    "COOPERATIVE": _cooperative,
    "CLUSTER_DIMENSION": _cluster,
    "PREFERRED_CLUSTER_DIMENSION": _preferred_cluster,
    "PROGRAMMATIC_EVENT": _programmatic_event,
    "LAUNCH_COMPLETION_EVENT": _completion_event,
    "DEVICE_UPDATABLE_KERNEL_NODE": _updatable,
    "SYNCHRONIZATION_POLICY": _policy,
    "PREFERRED_SHARED_MEMORY_CARVEOUT": _carveout,
    "MEM_SYNC_DOMAIN": _domain,
}
"""What an attribute does. The others are hints, which change no result: the window of the cache,
scheduling, priority, the domains of memory, overlap with the previous kernel."""
