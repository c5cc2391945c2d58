"""DLPack's numbers of devices and element types, as in dlpack.h 1.x.

https://dmlc.github.io/dlpack/latest/c_api.html
"""

from __future__ import annotations

CPU, CUDA, CUDA_HOST, VULKAN, METAL, ROCM_HOST, CUDA_MANAGED, WEBGPU = 1, 2, 3, 7, 8, 11, 13, 15

DEVICES: dict[int, str] = {
    CPU: "kDLCPU",
    CUDA: "kDLCUDA",
    CUDA_HOST: "kDLCUDAHost",
    4: "kDLOpenCL",
    VULKAN: "kDLVulkan",
    METAL: "kDLMetal",
    9: "kDLVPI",
    10: "kDLROCM",
    ROCM_HOST: "kDLROCMHost",
    12: "kDLExtDev",
    CUDA_MANAGED: "kDLCUDAManaged",
    14: "kDLOneAPI",
    WEBGPU: "kDLWebGPU",
    16: "kDLHexagon",
    17: "kDLMAIA",
    18: "kDLTrn",
}

SIGNED, UNSIGNED, FLOAT, OPAQUE, BFLOAT, COMPLEX, BOOL = range(7)

TYPES: dict[int, str] = {
    SIGNED: "int",
    UNSIGNED: "uint",
    FLOAT: "float",
    OPAQUE: "opaque handle",
    BFLOAT: "bfloat",
    COMPLEX: "complex",
    BOOL: "bool",
    7: "float8_e3m4",
    8: "float8_e4m3",
    9: "float8_e4m3b11fnuz",
    10: "float8_e4m3fn",
    11: "float8_e4m3fnuz",
    12: "float8_e5m2",
    13: "float8_e5m2fnuz",
    14: "float8_e8m0fnu",
    15: "float6_e2m3fn",
    16: "float6_e3m2fn",
    17: "float4_e2m1fn",
}

READ_ONLY, COPIED = 1, 2
"""Flags of a versioned tensor."""


def device_name(kind: int, number: int) -> str:
    """A device's name in messages.

    >>> device_name(7, 1), device_name(99, 0)
    ('kDLVulkan 1', 'device kind 99, 0')
    """
    return f"{DEVICES.get(kind, f'device kind {kind},')} {number}"
