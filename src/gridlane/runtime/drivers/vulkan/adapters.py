"""The instance, and the adapters (Vulkan's physical devices) that this driver can use."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from gridlane.core.device_errors import no_device
from gridlane.core.endings import alone, at_end, at_its_end
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
SUBSET = "VK_KHR_portability_subset"  # must be enabled where it is
_OPTIONAL = (BUDGET, SUBSET)

# VkPhysicalDeviceType: in words, and the place in the order of devices.
KINDS = {
    0: ("other", 3),
    1: ("integrated", 1),
    2: ("discrete", 0),
    3: ("virtual", 2),
    4: ("software on the CPU", 4),
}
SOFTWARE = 4
_DRIVER = "install a driver with Vulkan 1.3 (for the CPU: Debian's mesa-vulkan-drivers)"


# Structures in which a vendor counts the multiprocessors, and the extensions that have them.
_COUNTS = {
    "VkPhysicalDeviceShaderSMBuiltinsPropertiesNV": "VK_NV_shader_sm_builtins",
    "VkPhysicalDeviceShaderCorePropertiesAMD": "VK_AMD_shader_core_properties",
}


@dataclass(slots=True)
class Instance:
    """The loader's instance, its functions, and the contexts of it that are open."""

    handle: Any
    functions: Functions
    contexts: set[object] = field(default_factory=set)
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Adapter:
    """A device that Vulkan shows.

    Attributes:
        physical: the VkPhysicalDevice.
        properties: VkPhysicalDeviceProperties.
        name, driver: in words.
        uuid: the device's own name.
        kind: VkPhysicalDeviceType.
        version: (major, minor) of Vulkan.
        found: its features.
        extensions: all of those to enable.
        family: number of the queue family to use.
        timestamp_bits: valid bits of its time stamps; 0, it has none.
        largest_buffer: bytes.
        processors: multiprocessors, or 0 where Vulkan does not tell.
        missing: why it cannot be used, or "".
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
        DeviceError: there is no loader, or no driver for it; the process is at its end.
    """
    made = _instance()
    if made.ended:
        raise at_its_end("the device vulkan")
    return made


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
    made = handle[0]
    functions = Functions(lambda name: lib.vkGetInstanceProcAddr(made, name))
    created = Instance(made, functions)
    at_end(_destroy, created)
    return created


def _destroy(created: Instance) -> None:
    """At the end of the process, after the devices, which were made later; one that could not be
    ended needs the instance."""
    if not created.contexts and alone():
        created.ended = True
        created.functions.vkDestroyInstance(created.handle, null())


def _names(extensions: Any) -> frozenset[str]:
    return frozenset(text(item.extensionName) for item in extensions)


@cache
def all_adapters() -> tuple[Adapter, ...]:
    """Every device that Vulkan shows, those that cannot be used as well; discrete ones first."""
    made = instance()
    physical = listed(made.functions.vkEnumeratePhysicalDevices, "VkPhysicalDevice", made.handle)
    found = [_adapter(made.functions, item) for item in physical]
    return tuple(sorted(found, key=lambda adapter: KINDS.get(adapter.kind, KINDS[0])[1]))


def usable() -> tuple[Adapter, ...]:
    """The devices that this driver can use.

    Raises:
        DeviceError: VULKAN_NO_DEVICE, there is none, and why.
    """
    every = all_adapters()
    able = tuple(adapter for adapter in every if not adapter.missing)
    if able:
        return able
    told = "; ".join(f"{adapter.name} lacks {adapter.missing}" for adapter in every)
    no_device(
        "vulkan",
        told or "no driver of Vulkan shows a device",
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
        found = features.Found(frozenset(), (), False)
        lacks = "Vulkan {}.{} (it has {}.{})".format(*OLDEST, *version)
        return Adapter(
            physical, properties, name, "", uuid.UUID(int=0), plain.deviceType, version, found,
            (), 0, 0, 0, 0, lacks,
        )  # fmt: skip
    counting = [name for name, needs in _COUNTS.items() if needs in there]
    chained = features.chain([*features.PROPERTIES, *counting])
    functions.vkGetPhysicalDeviceProperties2(physical, chained[0])
    found = features.find(functions, physical, there, chained[: len(features.PROPERTIES)])
    family, bits = _queue_family(functions, physical)
    lacks = ", ".join(name for name in features.REQUIRED if name not in found.names)
    return Adapter(
        physical,
        properties,
        name,
        f"{text(chained[2].driverName)} {text(chained[2].driverInfo)}".strip(),
        uuid.UUID(bytes=bytes(chained[1].deviceUUID)),
        plain.deviceType,
        version,
        found,
        (*found.extensions, *(each for each in _OPTIONAL if each in there)),
        family,
        bits,
        chained[3].maxBufferSize,
        _processors(chained[-1]) if counting else 0,
        lacks or ("a queue for compute" if family < 0 else ""),
    )


def _processors(count: Any) -> int:
    """Multiprocessors, by one of the structures of _COUNTS."""
    if hasattr(count, "shaderSMCount"):
        return count.shaderSMCount
    arrays = count.shaderEngineCount * count.shaderArraysPerEngineCount
    return arrays * count.computeUnitsPerShaderArray


def _queue_family(functions: Functions, physical: Any) -> tuple[int, int]:
    """(number, time stamp bits) of the queue family to use: one for compute alone where there is
    such, as drawing gets in its way less; (-1, 0) where none computes."""
    compute, graphics = constant("VK_QUEUE_COMPUTE_BIT"), constant("VK_QUEUE_GRAPHICS_BIT")
    every = listed(
        functions.vkGetPhysicalDeviceQueueFamilyProperties, "VkQueueFamilyProperties", physical
    )
    able = [n for n, each in enumerate(every) if each.queueFlags & compute and each.queueCount]
    if not able:
        return -1, 0
    best = min(able, key=lambda n: (bool(every[n].queueFlags & graphics), n))
    return best, every[best].timestampValidBits
