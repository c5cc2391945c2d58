"""The adapters (WebGPU's word for devices) that wgpu finds."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import Any

from gridlane.core.config import set_for_others
from gridlane.core.device_errors import no_device
from gridlane.core.extras import install
from gridlane.runtime.drivers.single_buffer.engine import Facts
from gridlane.runtime.drivers.webgpu.c_types import tell_types
from gridlane.runtime.protocol import Limits

# wgpu's adapter type: its name, and its rank in the order of devices.
KINDS = {
    "DiscreteGPU": ("discrete", 0),
    "IntegratedGPU": ("integrated", 1),
    "Unknown": ("other", 2),
    "CPU": ("software on the CPU", 3),
}
WANTED_LIMITS = (
    "max-buffer-size",
    "max-storage-buffer-binding-size",
    "max-compute-workgroup-storage-size",
    "max-compute-invocations-per-workgroup",
    "max-compute-workgroup-size-x",
    "max-compute-workgroup-size-y",
    "max-compute-workgroup-size-z",
    "max-compute-workgroups-per-dimension",
    "min-storage-buffer-offset-alignment",
    "max-storage-buffers-per-shader-stage",
)
TIMESTAMPS = "timestamp-query"
_ADDRESSES = 1 << 32
"""The address space: addresses have 32 bits."""


@cache
def bindings() -> Any:
    """Import the module ``wgpu``.

    Raises:
        DeviceError: what is missing, and how to get it.
    """
    try:
        module = import_module("wgpu")  # the extra ``webgpu``; loaded when asked for
        tell_types(import_module("wgpu.backends.wgpu_native").ffi)
    except (ImportError, OSError, RuntimeError, AttributeError) as error:
        no_device("webgpu", f"the package wgpu does not load ({error})", install("webgpu"))
    return module


@cache
def usable() -> tuple[Any, ...]:
    """The adapters, the fastest kind first. An OpenGL adapter is omitted if the device has a driver
    of another interface as well.

    Raises:
        DeviceError: WEBGPU_NO_DEVICE, there is none.
    """
    gpu = bindings().gpu
    try:
        # wgpu's OpenGL looks for a display by Wayland's library, which prints a line for each try
        # without this variable.
        with set_for_others("XDG_RUNTIME_DIR", "/nonexistent"):
            every = gpu.enumerate_adapters_sync()
    except Exception as error:  # the library raises any exception where drivers are broken
        no_device("webgpu", f"wgpu finds no adapter ({error})")
    native = [each for each in every if each.info["backend_type"] != "OpenGL"]
    chosen = sorted(native or every, key=lambda each: _kind(each)[1])
    if not chosen:
        no_device(
            "webgpu",
            "wgpu finds no adapter",
            "install a driver of Vulkan (for the CPU: Debian's mesa-vulkan-drivers)",
        )
    return tuple(chosen)


def _kind(adapter: Any) -> tuple[str, int]:
    return KINDS.get(adapter.info["adapter_type"], KINDS["Unknown"])


def facts_of(adapter: Any, granted: dict[str, int], timed: bool) -> Facts:
    """The properties of an adapter's device, from its granted limits."""
    info = adapter.info
    names = ("max-storage-buffer-binding-size", "max-buffer-size")
    bounds = {name: granted[name] for name in names} | {"addresses have 32 bits": _ADDRESSES}
    why = min(bounds, key=lambda name: bounds[name])
    groups = granted["max-compute-workgroups-per-dimension"]
    return Facts(
        name=info["device"] or info["description"] or "WebGPU",
        kind=_kind(adapter)[0],
        driver=info["description"],
        api=f"WebGPU by {info['backend_type']}",
        software=info["adapter_type"] == "CPU",
        largest=bounds[why] // 4 * 4,
        why=why,
        bindings=granted["max-storage-buffers-per-shader-stage"],
        step=granted["min-storage-buffer-offset-alignment"],
        dispatch=(groups, groups, groups),
        clock="device" if timed else "host",
    )


def limits_of(granted: dict[str, int], software: bool) -> Limits:
    """The limits of a launch."""
    shared = granted["max-compute-workgroup-storage-size"]
    x, y, z = (granted[f"max-compute-workgroup-size-{axis}"] for axis in "xyz")
    return Limits(
        max_threads=granted["max-compute-invocations-per-workgroup"],
        max_block=(x, y, z),
        max_shared=shared,
        max_dynamic_shared=shared,
        multiprocessors=(os.cpu_count() or 1) if software else 1,
    )
