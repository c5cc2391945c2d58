"""Calls of CUDA's driver in tests, and what they give back."""

from __future__ import annotations

import numpy as np

from gridlane.cuda import driver as cu


def good(result):
    """What a call gives back, if it succeeded."""
    assert result[0] == 0, result
    return result[1] if len(result) == 2 else result[1:] or None


def name(result):
    """The name of a call's error."""
    return result[0].name


def device_array(values):
    """A copy on the device."""
    data = np.ascontiguousarray(values)
    address = good(cu.cuMemAlloc(data.nbytes))
    good(cu.cuMemcpyHtoD(address, data, data.nbytes))
    return address


def host_array(address, like):
    """A copy on the host, after all work."""
    made = np.empty_like(like)
    good(cu.cuCtxSynchronize())
    good(cu.cuMemcpyDtoH(made, address, made.nbytes))
    return made
