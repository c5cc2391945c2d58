"""``triton.runtime``: what launches programs, and the device."""

from __future__ import annotations

from gridlane.tiles.autotuning import Autotuner, Heuristics, autotune, heuristics
from gridlane.tiles.configs import Config
from gridlane.tiles.driver import driver
from gridlane.tiles.errors import OutOfResources
from gridlane.tiles.jit import JITFunction, KernelInterface
from gridlane.tiles.wrappers import TensorWrapper, reinterpret

__all__ = [
    "Autotuner",
    "Config",
    "Heuristics",
    "JITFunction",
    "KernelInterface",
    "OutOfResources",
    "TensorWrapper",
    "autotune",
    "driver",
    "heuristics",
    "reinterpret",
]
