"""What programs ask of the device, by the names of ``triton.runtime.driver``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from gridlane.core.config import config
from gridlane.launch import current
from gridlane.launch.devices import get_device
from gridlane.runtime.protocol import Device
from gridlane.tiles.streams import torchs_handles


class GPUTarget(NamedTuple):
    """The kind of a device: its backend, by the name that torch has for the device of its tensors;
    its architecture, or the device's name; and the lanes of a warp."""

    backend: str
    arch: int | str
    warp_size: int


def current_target() -> GPUTarget:
    """The kind of this thread's device."""
    device = current.device()
    target = device.target((1, 1, 1))
    arch: int | str = target.processor or target.name
    if isinstance(arch, str) and arch.startswith("sm_"):
        arch = int(arch[3:].rstrip("af"))
    own = "cuda" if current.kind() == "cuda" else "cpu"
    return GPUTarget(config().triton_backend or own, arch, device.limits.warp_size)


class Utilities:
    """Facts of devices."""

    def get_device_properties(self, ordinal: int | None) -> dict[str, int]:
        """The limits of a device of the current kind, by Triton's names; None, which torch's CPU
        has as its number, is the thread's own. Clocks, in kHz, and the width of the memory's bus
        are 0 where no driver has them."""
        device: Device = current.device() if ordinal is None else current.numbered(ordinal)
        limits, facts = device.limits, device.attributes()
        return {
            "max_shared_mem": limits.max_dynamic_shared,
            "max_num_regs": 65536,
            "multiprocessor_count": limits.multiprocessors,
            "warpSize": limits.warp_size,
            "sm_clock_rate": facts.get("CLOCK_RATE", 0),
            "mem_clock_rate": facts.get("MEMORY_CLOCK_RATE", 0),
            "mem_bus_width": facts.get("GLOBAL_MEMORY_BUS_WIDTH", 0),
        }


class ActiveDriver:
    """The driver of this thread's device."""

    def __init__(self) -> None:
        self.utils = Utilities()

    def is_active(self) -> bool:
        """True: there is always a device."""
        return True

    def get_current_target(self) -> GPUTarget:
        """The kind of this thread's device."""
        return current_target()

    def get_current_device(self) -> int:
        """The number of this thread's device among those of its kind."""
        name = current.name()
        return int(name.partition(":")[2] or 0)

    def get_current_stream(self, device: int | None = None) -> int:
        """The stream of launches over torch's tensors: torch's current one; 0, the default one, if
        the program has not imported torch, or on other devices than NVIDIA's."""
        torch = sys.modules.get("torch")
        if torch is None or current.kind() != "cuda" or not torch.cuda.is_available():
            return 0
        return torchs_handles(torch, self.get_current_device() if device is None else device)()

    def get_active_torch_device(self) -> Any:
        """The torch device whose tensors the current device uses: the CPU's, but for NVIDIA."""
        torch = import_module("torch")  # the program has it
        if current.kind() == "cuda":
            return torch.device("cuda", self.get_current_device())
        return torch.device("cpu")

    def get_device_interface(self) -> Any:
        """torch's module of that device."""
        torch = import_module("torch")
        return torch.cuda if current.kind() == "cuda" else torch.cpu

    def get_benchmarker(self) -> Callable[..., Any]:
        """The function that measures configurations."""
        from gridlane.tiles.testing import do_bench

        return do_bench

    def get_empty_cache_for_benchmark(self) -> Any:
        """Memory as large as a cache, to write over what the cache holds."""
        from gridlane.tuning.measuring import cache_filler

        return cache_filler(current.device())

    def clear_cache(self, cache: Any) -> None:
        """Write over what the device's cache holds."""
        cache()


class DriverConfig:
    """``triton.runtime.driver``: the active driver, which is always that of the thread's device."""

    def __init__(self) -> None:
        self._active = ActiveDriver()

    @property
    def active(self) -> ActiveDriver:
        """The driver of this thread's device."""
        return self._active

    @property
    def default(self) -> ActiveDriver:
        """The same."""
        return self._active

    def set_active(self, driver: Any) -> None:
        """Refused: gridlane chooses the driver by the device."""
        raise NotImplementedError(
            "triton.runtime.driver.set_active: gridlane has one driver; choose a device by "
            "GRIDLANE_DEVICE or with gridlane.device(...)"
        )

    def set_active_to_cpu(self) -> None:
        """Use the CPU in this thread, as Triton's fork for CPUs does."""
        current.choose(get_device("cpu"))

    def get_active_gpus(self) -> list[ActiveDriver]:
        """The drivers of GPUs that can be made the active one, as Triton's fork for CPUs has them:
        none, as GRIDLANE_DEVICE chooses the device."""
        return []

    def reset_active(self) -> None:
        """Nothing: the driver is always that of the thread's device."""


driver = DriverConfig()
