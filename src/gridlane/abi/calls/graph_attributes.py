"""The attributes of kernels in graphs."""

from __future__ import annotations

from typing import Any

from gridlane.abi.calls.graph_nodes import given, work_of
from gridlane.abi.calls.launch_attributes import attributes_of
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.abi.state.graphs import node
from gridlane.abi.state.launching import Launch
from gridlane.abi.struct import Struct
from gridlane.core.cuda_table import enums
from gridlane.launch.dimensions import ALONE

_ATTRIBUTES = {
    number: name.removeprefix("CU_LAUNCH_ATTRIBUTE_")
    for name, number in enums()["CUlaunchAttributeID"].values.items()
}
_OF_NODES = frozenset(
    [
        "ACCESS_POLICY_WINDOW", "COOPERATIVE", "CLUSTER_DIMENSION",
        "CLUSTER_SCHEDULING_POLICY_PREFERENCE", "PRIORITY", "MEM_SYNC_DOMAIN_MAP",
        "MEM_SYNC_DOMAIN", "PREFERRED_CLUSTER_DIMENSION", "PREFERRED_SHARED_MEMORY_CARVEOUT",
    ]
)  # fmt: skip
"""The attributes that nodes have. No value that they may have changes what is computed."""


def _check_attribute(attribute: int) -> None:
    if _ATTRIBUTES.get(attribute) not in _OF_NODES:
        fail(
            INVALID_VALUE if attribute not in _ATTRIBUTES else NOT_SUPPORTED,
            f"nodes have no attribute {_ATTRIBUTES.get(attribute, attribute)} here",
        )


@implements("cuGraphKernelNodeGetAttribute", "cudaGraphKernelNodeGetAttribute")
def get_attribute(handle: int, attribute: int) -> Struct:
    """An attribute of a launch; zero if it was not set."""
    work = work_of(node(handle), Launch)
    _check_attribute(attribute)
    return Struct.of("CUlaunchAttributeValue", work.attributes.get(attribute, b""))


@implements("cuGraphKernelNodeSetAttribute", "cudaGraphKernelNodeSetAttribute")
def set_attribute(handle: int, attribute: int, value: Struct | None) -> None:
    """Set an attribute of a launch."""
    node_object = node(handle)
    work = work_of(node_object, Launch)
    _check_attribute(attribute)
    each: Any = Struct("CUlaunchAttribute")
    each.id, each.value = attribute, given(value)
    chosen = attributes_of(each.address, 1)
    if chosen.cooperative or chosen.events or chosen.cluster not in (None, ALONE):
        fail(NOT_SUPPORTED, "cooperative launches, clusters and events of launches in graphs")
    node_object.work = work.with_attributes({**work.attributes, attribute: bytes(each.value)})


@implements("cuGraphKernelNodeCopyAttributes", "cudaGraphKernelNodeCopyAttributes")
def copy_attributes(to: int, source: int) -> None:
    """Give a launch the attributes of another."""
    node_object, other = node(to), work_of(node(source), Launch)
    node_object.work = work_of(node_object, Launch).with_attributes(other.attributes)
