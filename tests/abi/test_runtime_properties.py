"""The properties of a device against its attributes, by the names of both."""

import re

import pytest
from tests.abi.runtime import called, error, good

from gridlane.abi.struct import members
from gridlane.core.cuda_table import enums, layout
from gridlane.cuda import driver as cu
from gridlane.cuda import runtime as rt

DIMENSIONS = {1: ("",), 2: ("Width", "Height"), 3: ("Width", "Height", "Depth")}
LAYERED = {1: ("Width",), 2: ("Width", "Layers"), 3: ("Width", "Height", "Layers")}

OTHER_NAMES = {
    "maxThreadsDim": ("MaxBlockDimX", "MaxBlockDimY", "MaxBlockDimZ"),
    "maxGridSize": ("MaxGridDimX", "MaxGridDimY", "MaxGridDimZ"),
    "sharedMemPerBlock": ("MaxSharedMemoryPerBlock",),
    "sharedMemPerBlockOptin": ("MaxSharedMemoryPerBlockOptin",),
    "sharedMemPerMultiprocessor": ("MaxSharedMemoryPerMultiprocessor",),
    "reservedSharedMemPerBlock": ("ReservedSharedMemoryPerBlock",),
    "regsPerBlock": ("MaxRegistersPerBlock",),
    "regsPerMultiprocessor": ("MaxRegistersPerMultiprocessor",),
    "memPitch": ("MaxPitch",),
    "totalConstMem": ("TotalConstantMemory",),
    "major": ("ComputeCapabilityMajor",),
    "minor": ("ComputeCapabilityMinor",),
    "deviceOverlap": ("GpuOverlap",),
    "kernelExecTimeoutEnabled": ("KernelExecTimeout",),
    "ECCEnabled": ("EccEnabled",),
    "pciBusID": ("PciBusId",),
    "pciDeviceID": ("PciDeviceId",),
    "pciDomainID": ("PciDomainId",),
    "memoryBusWidth": ("GlobalMemoryBusWidth",),
    "persistingL2CacheMaxSize": ("MaxPersistingL2CacheSize",),
    "maxBlocksPerMultiProcessor": ("MaxBlocksPerMultiprocessor",),
    "accessPolicyMaxWindowSize": ("MaxAccessPolicyWindowSize",),
    "singleToDoublePrecisionPerfRatio": ("SingleToDoublePrecisionPerfRatio",),
    "sparseCudaArraySupported": ("SparseCudaArraySupported",),
    "memoryPoolSupportedHandleTypes": ("MemoryPoolSupportedHandleTypes",),
    "ipcEventSupported": ("IpcEventSupport",),
    "deviceNumaConfig": ("NumaConfig",),
    "deviceNumaId": ("NumaId",),
    "gpuPciDeviceID": ("GpuPciDeviceId",),
    "gpuPciSubsystemID": ("GpuPciSubsystemId",),
}
"""Members whose attributes have names of their own."""

NO_ATTRIBUTE = {"name", "uuid", "luid", "luidDeviceNodeMask", "totalGlobalMem", "reserved"}


def attributes_of(field, count):
    """The attributes of a member of ``cudaDeviceProp``, by CUDA's names."""
    if field in OTHER_NAMES:
        return OTHER_NAMES[field]
    shaped = re.fullmatch(r"max(Texture|Surface)(1D|2D|3D|Cubemap)(\w*)", field)
    if not shaped:
        return (field[0].upper() + field[1:],)
    kind, shape, how = shaped.groups()
    stem = f"Max{kind}{shape}{how.replace('Mipmap', 'Mipmapped')}"
    if "Layered" in how:
        return tuple(stem + each for each in LAYERED[count])
    if how == "Alt":
        stem = stem.removesuffix("Alt")
        return tuple(f"{stem}{each}Alt" for each in DIMENSIONS[3])
    if how == "Linear" and shape == "2D":
        return tuple(stem + each for each in ("Width", "Height", "Pitch"))
    return tuple(stem + each for each in ("Width", "Height", "Depth")[:count])


@pytest.mark.parametrize("struct", ["cudaDeviceProp", "cudaDeviceProp@12"])
def test_each_number_is_that_of_its_attribute(device, struct):
    if struct == "cudaDeviceProp":
        made = good(rt.cudaGetDeviceProperties(0))._struct
    else:
        number, (made,) = called("cudaGetDeviceProperties_v2", 0)
        assert number == 0
    known = {name.lower(): value for name, value in enums()["cudaDeviceAttr"].values.items()}
    for name, value in enums()["CUdevice_attribute"].values.items():  # the runtime has no name
        if name.endswith(("_UNIFIED_FUNCTION_POINTERS", "HOST_NUMA_MULTINODE_IPC_SUPPORTED")):
            plain = name.removeprefix("CU_DEVICE_ATTRIBUTE_").replace("_", "").lower()
            known.setdefault(f"cudadevattr{plain}", value)
    checked = 0
    for field in members(made):
        if field in NO_ATTRIBUTE:
            continue
        count = layout(struct).fields[field].type.count
        value = getattr(made, field)
        names = attributes_of(field, count or 1)
        values = value if count else (value,)
        assert len(names) == len(values), field
        for name, each in zip(names, values):
            number = known[f"cudadevattr{name.lower()}"]
            assert each == good(rt.cudaDeviceGetAttribute(number, 0)), field
            assert each == good(cu.cuDeviceGetAttribute(number, 0)), field
            checked += 1
    assert checked > 110


def test_the_rest_is_what_the_driver_says(device):
    made = good(rt.cudaGetDeviceProperties(0))
    good(cu.cuInit(0))
    assert made.name == good(cu.cuDeviceGetName(256, 0)).rstrip(b"\0") != b""
    assert bytes(made.uuid.bytes) == bytes(good(cu.cuDeviceGetUuid(0)).bytes)
    assert made.totalGlobalMem == good(cu.cuDeviceTotalMem(0)) > 0
    assert made.maxThreadsPerBlock >= 256 and made.warpSize == 32
    assert made.multiProcessorCount >= 1
    _, (old,) = called("cudaGetDeviceProperties_v2", 0)
    assert (old.major, old.minor) == (made.major, made.minor)
    assert old.uuid.bytes == bytes(made.uuid.bytes)


def test_all_attributes_have_values(device):
    for each in rt.cudaDeviceAttr:
        if not each.name.endswith("Max"):
            good(rt.cudaDeviceGetAttribute(each, 0))


def test_atomics_that_the_host_sees(device):
    kinds = rt.cudaAtomicOperation
    asked = [next(iter(kinds)), next(iter(kinds))]
    assert good(rt.cudaDeviceGetHostAtomicCapabilities(asked, 2, 0)) == [0, 0]
    wrong = rt.cudaError_t.cudaErrorInvalidValue
    assert error(rt.cudaDeviceGetHostAtomicCapabilities([999], 1, 0)) == wrong
    assert error(rt.cudaDeviceGetHostAtomicCapabilities([], 0, 0)) == wrong
