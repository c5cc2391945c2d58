"""The features of a device: the names in ``Target.features``, and Vulkan's names for them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from gridlane.core.features import Feature
from gridlane.core.frozen import frozen
from gridlane.runtime.drivers.vulkan.api import Functions, listed, new, struct

CORE, V11 = "VkPhysicalDeviceFeatures2", "VkPhysicalDeviceVulkan11Features"
V12, V13 = "VkPhysicalDeviceVulkan12Features", "VkPhysicalDeviceVulkan13Features"
ATOMIC_FLOAT = "VkPhysicalDeviceShaderAtomicFloatFeaturesEXT"
EXPLICIT_SHARED = "VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR"
MATRICES = "VkPhysicalDeviceCooperativeMatrixFeaturesKHR"
BFLOATS = "VkPhysicalDeviceShaderBfloat16FeaturesKHR"

# Structures that belong to an extension, which must be enabled with them.
EXTENSIONS = {
    ATOMIC_FLOAT: "VK_EXT_shader_atomic_float",
    EXPLICIT_SHARED: "VK_KHR_workgroup_memory_explicit_layout",
    MATRICES: "VK_KHR_cooperative_matrix",
    BFLOATS: "VK_KHR_shader_bfloat16",
}

# Name: the structure, and the fields that it requires.
FEATURES: dict[str, tuple[str, tuple[str, ...]]] = {
    "int64": (CORE, ("shaderInt64",)),
    "float64": (CORE, ("shaderFloat64",)),
    "int16": (CORE, ("shaderInt16",)),
    "storage16": (V11, ("storageBuffer16BitAccess", "uniformAndStorageBuffer16BitAccess")),
    "variable_pointers": (V11, ("variablePointersStorageBuffer", "variablePointers")),
    "storage8": (V12, ("storageBuffer8BitAccess", "uniformAndStorageBuffer8BitAccess")),
    "int8": (V12, ("shaderInt8",)),
    "float16": (V12, ("shaderFloat16",)),
    "atomic64": (V12, ("shaderBufferInt64Atomics",)),
    "shared_atomic64": (V12, ("shaderSharedInt64Atomics",)),
    "scalar_layout": (V12, ("scalarBlockLayout",)),
    "subgroup_types": (V12, ("shaderSubgroupExtendedTypes",)),
    "memory_model": (V12, ("vulkanMemoryModel", "vulkanMemoryModelDeviceScope")),
    "device_address": (V12, ("bufferDeviceAddress",)),
    "timeline": (V12, ("timelineSemaphore",)),
    "query_reset": (V12, ("hostQueryReset",)),
    "subgroup_size": (V13, ("subgroupSizeControl", "computeFullSubgroups")),
    "maintenance4": (V13, ("maintenance4",)),
    "float32_atomic_add": (ATOMIC_FLOAT, ("shaderBufferFloat32AtomicAdd",)),
    "shared_float32_atomic_add": (ATOMIC_FLOAT, ("shaderSharedFloat32AtomicAdd",)),
    "float64_atomic_add": (ATOMIC_FLOAT, ("shaderBufferFloat64AtomicAdd",)),
    "shared_float64_atomic_add": (ATOMIC_FLOAT, ("shaderSharedFloat64AtomicAdd",)),
    "matrices": (MATRICES, ("cooperativeMatrix",)),
    # The package lacks this structure; the fields are those of one with its layout (api.NEWER):
    # shaderBFloat16Type and shaderBFloat16CooperativeMatrix.
    "bfloats": (BFLOATS, ("storageBuffer8BitAccess", "storagePushConstant8")),
    "explicit_shared": (
        EXPLICIT_SHARED,
        (
            "workgroupMemoryExplicitLayout",
            "workgroupMemoryExplicitLayoutScalarBlockLayout",
            "workgroupMemoryExplicitLayout8BitAccess",
            "workgroupMemoryExplicitLayout16BitAccess",
        ),
    ),
}

REQUIRED = ("int64", "memory_model", "device_address", "timeline", "query_reset", "maintenance4")
"""Features that the driver and every compiled kernel require."""

# Features for the compiler, and the features above that each requires.
FOR_CODE: dict[Feature, tuple[str, ...]] = {
    Feature.INT64: ("int64",),
    Feature.FLOAT64: ("float64",),
    Feature.INT16: ("int16", "storage16"),
    Feature.INT8: ("int8", "storage8"),
    Feature.FLOAT16: ("float16", "storage16"),
    Feature.ATOMIC64: ("atomic64", "shared_atomic64"),
    Feature.FLOAT32_ATOMIC_ADD: ("float32_atomic_add", "shared_float32_atomic_add"),
    Feature.SUBGROUP32: ("subgroup32",),
    Feature.MATRIX_HALVES: ("matrix_halves", "subgroup32", "float16", "storage16", "int16"),
    Feature.MATRIX_BFLOATS: (
        "matrix_bfloats",
        "bfloats",
        "matrix_halves",
        "subgroup32",
        "float16",
        "storage16",
        "int16",
    ),
    Feature.LONE_BARRIERS: ("lone_barriers",),
    Feature.DENORM16: ("denormals16",),
    Feature.DENORM32: ("denormals32",),
    Feature.DENORM64: ("denormals64",),
}

PROPERTIES = (
    "VkPhysicalDeviceProperties2",
    "VkPhysicalDeviceVulkan11Properties",
    "VkPhysicalDeviceVulkan12Properties",
    "VkPhysicalDeviceVulkan13Properties",
)

# Features that follow from a device's properties; none needs enabling.
FLOAT_CONTROLS = {
    "preserve": "shaderSignedZeroInfNanPreserveFloat",
    "denormals": "shaderDenormPreserveFloat",
    "nearest_even": "shaderRoundingModeRTEFloat",
}

# VkSubgroupFeatureFlagBits.
SUBGROUP_OPERATIONS = {
    "basic": 1,
    "vote": 2,
    "arithmetic": 4,
    "ballot": 8,
    "shuffle": 16,
    "shuffle_relative": 32,
}
_COMPUTE_STAGE = 0x20

_F16, _F32, _BF16 = 0, 1, 1000141000  # VkComponentTypeKHR
_SUBGROUP = 3  # VkScopeKHR
_PRODUCTS = {
    "matrix_halves": {(_F16, _F16, _F16, _F16), (_F16, _F16, _F32, _F32)},
    "matrix_bfloats": {(_BF16, _BF16, _F32, _F32)},
}
"""The types of A, B, C and the result of features."""

_SHARED = 48 << 10
"""Bytes of shared memory of ``Feature.MATRIX_HALVES``."""

_WARP = 32

# VkDriverId of drivers that number a subgroup's lanes by the thread's linear index, which Vulkan
# leaves open: AMD's own two and Mesa's RADV, NVIDIA's own, Mesa's NVK.
_NVIDIA = 4
_LINEAR = frozenset((1, 2, 3, _NVIDIA, 24))


@frozen
class Found:
    """The features of a device.

    Attributes:
        names: names in FEATURES, and those from the properties.
        extensions: the extensions to enable.
        forced_subgroups: whether a subgroup size of 32 must be requested, as others are possible.
    """

    names: frozenset[str]
    extensions: tuple[str, ...]
    forced_subgroups: bool


def for_code(names: frozenset[str], software: bool) -> frozenset[Feature]:
    """``Target.features`` of a device with these names. LLVM-based compilers of software devices
    treat a division by zero as undefined (``folds_zeros``) and turn memory barriers into block
    barriers (``fences_wait``); processors keep subnormal numbers. Other devices may flush those of
    f32 unless a mode disables that (``flushes32``), use the unrounded value of an f32 that was
    rounded to f16 (``folds_halves``), write more than a byte of a local array (``mixes_bytes``),
    keep bits above those of a small integer (``keeps_upper_bits``), fold 64-bit integers wrongly
    (``folds_wide``) and take -0 for 0 (``loses_minus_zero``)."""
    features = {name for name, parts in FOR_CODE.items() if names.issuperset(parts)}
    if software:
        features |= {Feature.FOLDS_ZEROS, Feature.FENCES_WAIT, Feature.SOFTWARE}
    else:
        features |= {Feature.FOLDS_HALVES, Feature.MIXES_BYTES}
        features |= {Feature.KEEPS_UPPER_BITS, Feature.FOLDS_WIDE, Feature.LOSES_MINUS_ZERO}
        if Feature.DENORM32 not in features:
            features.add(Feature.FLUSHES32)
    return frozenset(features)


def chain(names: Sequence[str]) -> list[Any]:
    """Empty structures of these names, linked into a chain."""
    results = [struct(name) for name in names]
    for first, second in pairwise(results):
        first.pNext = second
    return results


def structures(extensions: frozenset[str]) -> list[str]:
    """The feature structures that a device with these extensions supports."""
    known = [CORE, V11, V12, V13]
    return known + [name for name, needs in EXTENSIONS.items() if needs in extensions]


def find(
    instance: Functions, physical: Any, extensions: frozenset[str], properties: list[Any]
) -> Found:
    """Query the features of a device; ``properties`` are the filled structures of PROPERTIES."""
    known = structures(extensions)
    structures_of_features = chain(known)
    instance.vkGetPhysicalDeviceFeatures2(physical, structures_of_features[0])
    by_name = dict(zip(known, structures_of_features))
    names = {
        name
        for name, (structure, fields) in FEATURES.items()
        if structure in by_name and all(getattr(_fields(by_name[structure]), f) for f in fields)
    }
    _, v11, v12, v13 = properties
    for name, field in FLOAT_CONTROLS.items():
        names |= {f"{name}{bits}" for bits in (16, 32, 64) if getattr(v12, f"{field}{bits}")}
    if v11.subgroupSupportedStages & _COMPUTE_STAGE:
        operations = v11.subgroupSupportedOperations
        names |= {f"subgroup_{n}" for n, bit in SUBGROUP_OPERATIONS.items() if operations & bit}
    if _has_warps(v12.driverID, v13, names):
        names.add("subgroup32")
    if v12.driverID == _NVIDIA:  # its barriers have CUDA's meaning
        names.add("lone_barriers")
    shared = properties[0].properties.limits.maxComputeSharedMemorySize
    if "matrices" in names and shared >= _SHARED:
        names |= _products(instance, physical)
    used = {FEATURES[name][0] for name in names if name in FEATURES}
    enabled = tuple(EXTENSIONS[name] for name in sorted(used) if name in EXTENSIONS)
    return Found(frozenset(names), enabled, v13.minSubgroupSize != v13.maxSubgroupSize)


def _has_warps(driver: int, v13: Any, names: set[str]) -> bool:
    """Whether a block can consist of full subgroups of 32 consecutive threads."""
    if driver not in _LINEAR or "subgroup_size" not in names:
        return False
    if v13.minSubgroupSize == v13.maxSubgroupSize == _WARP:
        return True
    allowed = v13.minSubgroupSize <= _WARP <= v13.maxSubgroupSize
    return allowed and bool(v13.requiredSubgroupSizeStages & _COMPUTE_STAGE)


def _products(instance: Functions, physical: Any) -> set[str]:
    """Which matrices of 16x16 subgroups multiply."""
    shapes = listed(
        instance.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR,
        "VkCooperativeMatrixPropertiesKHR",
        physical,
        typed=True,
    )
    there = {
        (each.AType, each.BType, each.CType, each.ResultType)
        for each in shapes
        if (each.MSize, each.NSize, each.KSize, each.scope) == (16, 16, 16, _SUBGROUP)
    }
    return {name for name, types in _PRODUCTS.items() if there >= types}


def enabling(support: Found) -> list[Any]:
    """The structures that enable the found features, for vkCreateDevice."""
    result = chain(names := structures(frozenset(support.extensions)))
    by_name = dict(zip(names, result))
    for name in support.names & FEATURES.keys():
        structure, fields = FEATURES[name]
        for field in fields:
            setattr(_fields(by_name[structure]), field, 1)
    return result


def _fields(structure: Any) -> Any:
    """The structure with the feature fields: Vulkan 1.0 nests them in an inner one."""
    return getattr(structure, "features", structure)


def c_strings(strings: list[str]) -> tuple[Any, list[Any]]:
    """A C array of strings, and the objects that it points to."""
    memory = [new("char[]", string.encode()) for string in strings]
    return new("char *[]", memory), memory
