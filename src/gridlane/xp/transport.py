"""Elements between the host and devices, and within a device."""

from __future__ import annotations

import numpy as np

from gridlane.launch import current
from gridlane.runtime.protocol import Device
from gridlane.xp.computing import compute, copied, new_leaf
from gridlane.xp.nodes import Node


def _octets(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def uploaded(host: np.ndarray, device: Device) -> Node:
    """A leaf with a copy of the host's elements, of any layout.

    Raises:
        TypeError: kernels cannot hold such elements.
        DeviceError: OUT_OF_MEMORY.
    """
    host = np.ascontiguousarray(host).reshape(host.shape)
    leaf = new_leaf(device, host.dtype, host.shape)
    if host.size:
        current.check_copy(device)
        assert leaf.storage is not None
        device.upload(leaf.storage.buffer.address, _octets(host))
    return leaf


def downloaded(node: Node) -> np.ndarray:
    """A copy of a node's elements for the host."""
    if node.device is not None:
        current.check_copy(node.device)
    compute(node)
    host = np.empty(node.shape, node.dtype)
    if not node.size:
        return host
    whole = node if node.is_contiguous else copied(node)
    assert whole.storage is not None and whole.device is not None
    whole.device.download(_octets(host), whole.storage.buffer.address + whole.offset)
    return host


def moved(node: Node, device: Device) -> Node:
    """The elements on another device, by way of the host."""
    return node if node.device is device else uploaded(downloaded(node), device)
