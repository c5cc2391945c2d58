"""The instance, and the adapters (Vulkan's physical devices) that this driver can use."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from gridlane.core.device_errors import no_device
from gridlane.core.endings import alone, at_end, at_its_end
from gridlane.core.frozen import frozen
from gridlane.runtime.drivers.vulkan import features
from gridlane.runtime.drivers.vulkan.api import (
    NO_DRIVER,
    Functions,
    api_version,
    bindings,
    check,
    constant,
    listed,
    new,
    null,
    struct,
    text,
)

OLDEST = (1, 3)
_PORTABILITY = "VK_KHR_portability_enumeration"
_PORTABILITY_FLAG = 1
BUDGET = "VK_EXT_memory_budget"
SUBSET = "VK_KHR_portability_subset"  # must be enabled if present
_OPTIONAL = (BUDGET, SUBSET)

# VkPhysicalDeviceType: its name, and its rank in the order of devices.
KINDS = {
    0: ("other", 3),
    1: ("integrated", 1),
    2: ("discrete", 0),
    3: ("virtual", 2),
    4: ("software on the CPU", 4),
}
SOFTWARE = 4
_DRIVER = "install a driver with Vulkan 1.3 (for the CPU: Debian's mesa-vulkan-drivers)"


# Vendors' structures with the number of multiprocessors, and their extensions.
_COUNTS = {
    "VkPhysicalDeviceShaderSMBuiltinsPropertiesNV": "VK_NV_shader_sm_builtins",
    "VkPhysicalDeviceShaderCorePropertiesAMD": "VK_AMD_shader_core_properties",
}


@dataclass(slots=True)
class Instance:
    """The loader's instance, its functions, and its open contexts."""

    handle: Any
    functions: Functions
    contexts: set[object] = field(default_factory=set[object])
    ended: bool = False


@frozen
class Adapter:
    """A device that Vulkan lists.

    Attributes:
        physical: the VkPhysicalDevice.
        properties: VkPhysicalDeviceProperties.
        name, driver: their names.
        uuid: the device's UUID.
        kind: VkPhysicalDeviceType.
        version: (major, minor) of Vulkan.
        found: its features.
        extensions: the extensions to enable.
        family: number of the queue family to use.
        timestamp_bits: valid bits of its time stamps; 0 without time stamps.
        largest_buffer: bytes.
        processors: multiprocessors, or 0 if Vulkan does not report them.
        missing: why it is unusable, or "".
    """

    physical: Any
    properties: Any
    name: str
    driver: str
    uuid: uuid.UUID
    kind: int
    version: tuple[int, int]
    found: features.Found
    extensions: tuple[str, ...]
    family: int
    timestamp_bits: int
    largest_buffer: int
    processors: int
    missing: str


def instance() -> Instance:
    """The instance of this process.

    Raises:
        DeviceError: there is no loader, or no driver for it; the process is exiting.
    """
    instance_object = _instance()
    if instance_object.ended:
        raise at_its_end("the device vulkan")
    return instance_object


@cache
def _instance() -> Instance:
    lib = bindings().lib
    there = _names(
        listed(lib.vkEnumerateInstanceExtensionProperties, "VkExtensionProperties", null())
    )
    enabled = [name for name in (_PORTABILITY,) if name in there]
    strings, memory = features.c_strings(enabled)
    application = struct("VkApplicationInfo", apiVersion=api_version(*OLDEST))
    info = struct(
        "VkInstanceCreateInfo",
        flags=_PORTABILITY_FLAG if enabled else 0,
        pApplicationInfo=application,
        enabledExtensionCount=len(enabled),
        ppEnabledExtensionNames=strings,
    )
    handle = new("VkInstance *")
    result = lib.vkCreateInstance(info, null(), handle)
    if result == NO_DRIVER:
        no_device("vulkan", "the loader finds no driver of Vulkan", _DRIVER)
    check(result, "vkCreateInstance")
    del memory
    handle_of_instance = handle[0]
    functions = Functions(lambda name: lib.vkGetInstanceProcAddr(handle_of_instance, name))
    created = Instance(handle_of_instance, functions)
    at_end(_destroy, created)
    return created


def _destroy(created: Instance) -> None:
    """Destroy the instance at exit, after the devices, which were created later; a device that
    could not be closed still needs it."""
    if not created.contexts and alone():
        created.ended = True
        created.functions.vkDestroyInstance(created.handle, null())


def _names(extensions: Any) -> frozenset[str]:
    return frozenset(text(item.extensionName) for item in extensions)


@cache
def all_adapters() -> tuple[Adapter, ...]:
    """Every device that Vulkan lists, usable or not; discrete ones first."""
    instance_object = instance()
    physical = listed(
        instance_object.functions.vkEnumeratePhysicalDevices,
        "VkPhysicalDevice",
        instance_object.handle,
    )
    adapters = [_adapter(instance_object.functions, item) for item in physical]
    return tuple(sorted(adapters, key=lambda adapter: KINDS.get(adapter.kind, KINDS[0])[1]))


def usable() -> tuple[Adapter, ...]:
    """The devices that this driver can use.

    Raises:
        DeviceError: VULKAN_NO_DEVICE, with the reason of each unusable device.
    """
    every = all_adapters()
    able = tuple(adapter for adapter in every if not adapter.missing)
    if able:
        return able
    message = "; ".join(f"{adapter.name} lacks {adapter.missing}" for adapter in every)
    no_device(
        "vulkan",
        message or "no driver of Vulkan shows a device",
        _DRIVER,
    )


def _adapter(functions: Functions, physical: Any) -> Adapter:
    properties = struct("VkPhysicalDeviceProperties2")
    functions.vkGetPhysicalDeviceProperties2(physical, properties)
    plain = properties.properties
    version = (plain.apiVersion >> 22 & 0x7F, plain.apiVersion >> 12 & 0x3FF)
    enumerate_extensions = functions.vkEnumerateDeviceExtensionProperties
    there = _names(listed(enumerate_extensions, "VkExtensionProperties", physical, null()))
    name = text(plain.deviceName)
    if version < OLDEST:
        support = features.Found(frozenset(), (), False)
        lacks = "Vulkan {}.{} (it has {}.{})".format(*OLDEST, *version)
        return Adapter(
            physical, properties, name, "", uuid.UUID(int=0), plain.deviceType, version, support,
            (), 0, 0, 0, 0, lacks,
        )  # fmt: skip
    counting = [name for name, needs in _COUNTS.items() if needs in there]
    chained = features.chain([*features.PROPERTIES, *counting])
    functions.vkGetPhysicalDeviceProperties2(physical, chained[0])
    support = features.find(functions, physical, there, chained[: len(features.PROPERTIES)])
    family, bits = _queue_family(functions, physical)
    lacks = ", ".join(name for name in features.REQUIRED if name not in support.names)
    return Adapter(
        physical,
        properties,
        name,
        f"{text(chained[2].driverName)} {text(chained[2].driverInfo)}".strip(),
        uuid.UUID(bytes=bytes(chained[1].deviceUUID)),
        plain.deviceType,
        version,
        support,
        (*support.extensions, *(each for each in _OPTIONAL if each in there)),
        family,
        bits,
        chained[3].maxBufferSize,
        _processors(chained[-1]) if counting else 0,
        lacks or ("a queue for compute" if family < 0 else ""),
    )


def _processors(count: Any) -> int:
    """The number of multiprocessors, from one of the structures of _COUNTS."""
    if hasattr(count, "shaderSMCount"):
        return count.shaderSMCount
    arrays = count.shaderEngineCount * count.shaderArraysPerEngineCount
    return arrays * count.computeUnitsPerShaderArray


def _queue_family(functions: Functions, physical: Any) -> tuple[int, int]:
    """(number, time stamp bits) of the queue family to use: a compute-only one if there is one, as
    drawing interferes with it less; (-1, 0) if none computes."""
    compute, graphics = constant("VK_QUEUE_COMPUTE_BIT"), constant("VK_QUEUE_GRAPHICS_BIT")
    every = listed(
        functions.vkGetPhysicalDeviceQueueFamilyProperties, "VkQueueFamilyProperties", physical
    )
    able = [n for n, each in enumerate(every) if each.queueFlags & compute and each.queueCount]
    if not able:
        return -1, 0
    best = min(able, key=lambda n: (bool(every[n].queueFlags & graphics), n))
    return best, every[best].timestampValidBits
