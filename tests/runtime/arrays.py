"""What tests of devices share: arrays on the device, parameter blocks."""

from __future__ import annotations

import numpy as np

from gridlane.launch.packing import flat_packer
from gridlane.launch.parameters import Parameters


def to_device(device, array):
    """A buffer with the bytes of an array."""
    buffer = device.allocate(array.nbytes)
    device.upload(buffer.address, octets(array))
    return buffer


def octets(array):
    """The bytes of an array, not copied."""
    return array.view(np.uint8).reshape(-1).data


def words(device, buffer, dtype=np.uint32):
    """What a buffer holds."""
    out = np.empty(buffer.size, np.uint8)
    device.download(out.data, buffer.address)
    return out.view(dtype)


def params(artifact, *values):
    """The parameter block."""
    return flat_packer(Parameters(artifact.params, artifact.param_bytes))(*values)
