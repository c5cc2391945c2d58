"""Devices that cannot use each other's memory: documented results and errors."""

import pytest
from tests.abi.calling import BAD, good

from gridlane.abi.state import devices
from gridlane.cuda import driver as cu
from gridlane.cuda import runtime as rt
from gridlane.launch.devices import get_device

NO_DEVICE = cu.CUresult.CUDA_ERROR_INVALID_DEVICE
RANK = cu.CUdevice_P2PAttribute.CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK


@pytest.fixture
def two(context, device, monkeypatch):
    """A second device, the interpreter."""
    both = [device, get_device("interp")]
    monkeypatch.setattr(devices, "count", lambda: 2)
    found = devices.device
    monkeypatch.setattr(devices, "device", lambda n: both[n] if n in (0, 1) else found(n))


def test_two_devices(two, context):
    assert good(cu.cuDeviceCanAccessPeer(0, 1)) == 0 == good(rt.cudaDeviceCanAccessPeer(1, 0))
    assert good(cu.cuDeviceGetP2PAttribute(RANK, 0, 1)) == 0
    add = cu.CUatomicOperation.CU_ATOMIC_OPERATION_INTEGER_ADD
    assert good(cu.cuDeviceGetP2PAtomicCapabilities([add] * 2, 2, 0, 1)) == [0, 0]
    assert cu.cuDeviceGetP2PAtomicCapabilities([99], 1, 0, 1)[0] == BAD
    assert cu.cuDeviceGetP2PAtomicCapabilities(None, 1, 0, 1)[0] == BAD
    there = good(cu.cuCtxCreate(None, 0, 1))
    good(cu.cuCtxSetCurrent(context))
    assert cu.cuCtxEnablePeerAccess(there, 0)[0].name == "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED"
    assert cu.cuCtxEnablePeerAccess(there, 1)[0] == BAD
    assert cu.cuCtxDisablePeerAccess(there)[0].name == "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED"
    assert rt.cudaDeviceEnablePeerAccess(1, 0)[0] == NO_DEVICE
    assert rt.cudaDeviceEnablePeerAccess(1, 1)[0] == BAD
    disabled = rt.cudaDeviceDisablePeerAccess(1)[0]
    assert disabled == rt.cudaError_t.cudaErrorPeerAccessNotEnabled
    good(cu.cuCtxDestroy(there))


def test_one_device(context):
    assert good(cu.cuDeviceCanAccessPeer(0, 0)) == 0
    for wrong in (1, -1, 99):
        assert cu.cuDeviceCanAccessPeer(0, wrong)[0] == NO_DEVICE
        assert rt.cudaDeviceEnablePeerAccess(wrong, 0)[0] == NO_DEVICE
        assert rt.cudaDeviceDisablePeerAccess(wrong)[0] == NO_DEVICE
        assert cu.cuDeviceGetP2PAttribute(RANK, 0, wrong)[0] == NO_DEVICE
    assert cu.cuDeviceGetP2PAttribute(RANK, 0, 0)[0] == NO_DEVICE
    assert cu.cuDeviceGetP2PAttribute(99, 0, 0)[0] == BAD
    for wrong in (context, 0, 1 << 63, good(cu.cuStreamCreate(0))):
        name = cu.cuCtxEnablePeerAccess(int(wrong), 0)[0].name
        assert name == "CUDA_ERROR_INVALID_CONTEXT"
    assert cu.cuCtxDisablePeerAccess(1 << 63)[0].name == "CUDA_ERROR_INVALID_CONTEXT"
    second = good(cu.cuCtxCreate(None, 0, 0))
    unsupported = cu.CUresult.CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
    assert cu.cuCtxEnablePeerAccess(context, 0)[0] == unsupported
    good(cu.cuCtxDestroy(second))
