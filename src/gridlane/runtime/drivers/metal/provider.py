"""Import Metal from PyPI's pyobjc-framework-Metal or, on request, from a stand-in."""

from __future__ import annotations

import platform
import sys
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from gridlane.core.config import config
from gridlane.core.device_errors import no_device
from gridlane.core.extras import install
from gridlane.core.frozen import frozen
from gridlane.runtime.drivers.metal.selectors import owning, owning_metadata

STAND_IN = "gridlane.emulation.metal"
LABEL = "CPU emulation"
"""The label in every description of a stand-in device."""
_ADVICE = (
    "GRIDLANE_METAL=emulated makes the device metal a stand-in on the CPU, to try programs with "
    "(it needs g++, and gridlane from its source tree)"
)


@frozen
class Provider:
    """The modules that the driver uses.

    Attributes:
        metal, objc, foundation: the modules Metal, objc and Foundation.
        macos: the version of the system, (major, minor).
        emulated: whether they are the stand-in.
    """

    metal: Any
    objc: Any
    foundation: Any
    macos: tuple[int, int]
    emulated: bool

    def pool(self) -> AbstractContextManager[Any]:
        """Open an autorelease pool: objects that Metal autoreleases in the with block die with it.
        Python's threads have no pool of their own."""
        return self.objc.autorelease_pool()


@cache
def provider() -> Provider:
    """Import the modules, and register the ownership of their methods' results.

    Raises:
        DeviceError: METAL_NO_DEVICE, Metal is unavailable.
    """
    result = _stand_in() if config().metal == "emulated" else _system()
    for selector, signature in owning().items():
        metadata = owning_metadata(signature)
        result.objc.registerMetaDataForSelector(b"NSObject", selector.encode(), metadata)
    return result


def _stand_in() -> Provider:
    names = ("framework", "bridge", "foundation")
    if find_spec(STAND_IN.rpartition(".")[0]) is None:
        no_device(
            "metal",
            "the stand-in for Metal is not in this installation, as wheels leave it out",
            "install gridlane from its source tree with pip install -e",
        )
    metal, objc, foundation = (import_module(f"{STAND_IN}.{name}") for name in names)
    return Provider(metal, objc, foundation, metal.MACOS, True)


def _system() -> Provider:
    if sys.platform != "darwin":
        no_device("metal", f"Metal is a part of macOS, and this is {platform.system()}", _ADVICE)
    try:
        metal, objc, foundation = map(import_module, ("Metal", "objc", "Foundation"))
    except ImportError as error:
        no_device("metal", f"pyobjc does not load: {error}", install("metal"))
    major, minor = (*platform.mac_ver()[0].split("."), "0", "0")[:2]
    return Provider(metal, objc, foundation, (int(major or 0), int(minor)), False)
