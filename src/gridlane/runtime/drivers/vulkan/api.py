"""Vulkan's functions and structures, by PyPI's vulkan; a failure raises.

The package's own wrappers convert every argument at every call. This module uses its cffi
declarations directly: functions are C pointers of the device's driver, structures are C structures.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from gridlane.core.device_errors import (
    INVALID_IMAGE,
    LAUNCH_FAILED,
    MAP_FAILED,
    NEWER_DRIVER,
    NO_DEVICE,
    NOT_INITIALIZED,
    NOT_PERMITTED,
    NOT_SUPPORTED,
    OUT_OF_MEMORY,
    UNKNOWN_FAILURE,
    device_error,
    fail,
    no_device,
)
from gridlane.core.errors import DeviceError
from gridlane.core.extras import install

SUCCESS, TIMEOUT = 0, 2
LOST = -4
NO_DRIVER = -9

# VkResult: Vulkan's name, and CUDA's number of such a failure.
RESULTS: dict[int, tuple[str, int]] = {
    -1: ("VK_ERROR_OUT_OF_HOST_MEMORY", OUT_OF_MEMORY),
    -2: ("VK_ERROR_OUT_OF_DEVICE_MEMORY", OUT_OF_MEMORY),
    -3: ("VK_ERROR_INITIALIZATION_FAILED", NOT_INITIALIZED),
    LOST: ("VK_ERROR_DEVICE_LOST", LAUNCH_FAILED),
    -5: ("VK_ERROR_MEMORY_MAP_FAILED", MAP_FAILED),
    -6: ("VK_ERROR_LAYER_NOT_PRESENT", NOT_SUPPORTED),
    -7: ("VK_ERROR_EXTENSION_NOT_PRESENT", NOT_SUPPORTED),
    -8: ("VK_ERROR_FEATURE_NOT_PRESENT", NOT_SUPPORTED),
    NO_DRIVER: ("VK_ERROR_INCOMPATIBLE_DRIVER", NO_DEVICE),
    -10: ("VK_ERROR_TOO_MANY_OBJECTS", OUT_OF_MEMORY),
    -13: ("VK_ERROR_UNKNOWN", UNKNOWN_FAILURE),
    -1000012000: ("VK_ERROR_INVALID_SHADER_NV", INVALID_IMAGE),
    -1000069000: ("VK_ERROR_OUT_OF_POOL_MEMORY", OUT_OF_MEMORY),
    -1000161000: ("VK_ERROR_FRAGMENTATION", OUT_OF_MEMORY),
    -1000174001: ("VK_ERROR_NOT_PERMITTED_KHR", NOT_PERMITTED),
}

# Word boundaries of VkPhysicalDeviceVulkan13Features, which is VK_..._VULKAN_1_3_FEATURES.
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[0-9])(?=[A-Z0-9])")

_kept: weakref.WeakKeyDictionary[Any, tuple[Any, ...]] = weakref.WeakKeyDictionary()
"""The objects that structures point to, for the structures' lifetime."""


@cache
def bindings() -> Any:
    """Import the module ``vulkan``, which loads the Vulkan loader.

    Raises:
        DeviceError: what is missing, and how to get it.
    """
    try:
        # The extra ``vulkan``; loaded when such a device is asked for.
        return import_module("vulkan")
    except ImportError as error:
        no_device("vulkan", f"the package vulkan does not load ({error})", install("vulkan"))
    except OSError:
        no_device(
            "vulkan",
            "libvulkan, Vulkan's loader, does not load",
            "install it (Debian: libvulkan1) and a driver (for the CPU: mesa-vulkan-drivers)",
        )


def new(declaration: str, value: Any = None) -> Any:
    """C memory: ``new("uint64_t[]", [1, 2])``."""
    return bindings().ffi.new(declaration, value)


def null() -> Any:
    """The null pointer."""
    return bindings().ffi.NULL


def number(handle: Any) -> int:
    """The integer of a handle, a function or a pointer."""
    return int(bindings().ffi.cast("uintptr_t", handle))


def constant(name: str) -> int:
    """A constant of the API: ``constant("VK_QUEUE_COMPUTE_BIT")``."""
    return getattr(bindings(), name)


@cache
def _type_number(name: str) -> int | None:
    """A structure's VkStructureType; None if it has none."""
    spelling = _WORDS.sub("_", name.removeprefix("Vk")).upper()
    return getattr(bindings(), f"VK_STRUCTURE_TYPE_{spelling}", None)


NEWER = {
    "VkPhysicalDeviceShaderBfloat16FeaturesKHR": (
        "VkPhysicalDevice8BitStorageFeatures",
        1000141000,
    ),
}
"""Structures that the package does not declare: one with the same layout, and the number."""


def struct(name: str, **fields: Any) -> Any:
    """A pointer to a new structure, with its sType; it keeps the targets of ``fields`` alive."""
    layout, number = NEWER.get(name) or (name, _type_number(name))
    result = bindings().ffi.new(f"{layout} *", fields)
    if number is not None:
        result.sType = number
    _kept[result] = tuple(fields.values())
    return result


def text(characters: Any) -> str:
    """The string in a char array."""
    return bindings().ffi.string(characters).decode(errors="replace")


class Functions:
    """Functions by name, from ``load``: of an instance or of a device.

    A call costs a microsecond, as it converts nothing.
    """

    def __init__(self, load: Callable[[bytes], Any]) -> None:
        self._load = load

    def __getattr__(self, name: str) -> Any:
        address = self._load(name.encode())
        if not address:
            fail(NEWER_DRIVER, f"the driver has no {name}")
        function = bindings().ffi.cast(f"PFN_{name}", address)
        setattr(self, name, function)
        return function


def failure(result: int, what: str) -> DeviceError:
    """The exception of a VkResult."""
    name, number = RESULTS.get(result, (f"VkResult {result}", UNKNOWN_FAILURE))
    return device_error(number, f"{what} ({name})")


def check(result: int, what: str) -> None:
    """Raise the exception of a VkResult, unless it is success."""
    if result < SUCCESS:
        raise failure(result, what)


def listed(function: Callable[..., Any], kind: str, *owner: Any, typed: bool = False) -> Any:
    """The C array of a Vulkan query that is called twice, for the number and for the items.

    Args:
        typed: the items have the field sType.
    """
    count = new("uint32_t *")
    check(function(*owner, count, null()) or SUCCESS, kind)
    items = new(f"{kind}[]", count[0])
    for item in items if typed else ():
        item.sType = _type_number(kind)
    check(function(*owner, count, items) or SUCCESS, kind)
    return items


def api_version(major: int, minor: int) -> int:
    """Vulkan's number of a version."""
    return major << 22 | minor << 12
