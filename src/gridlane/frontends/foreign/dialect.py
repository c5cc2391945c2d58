"""Functions of the Python dialect, and those of NVIDIA's that it has, for other frontends."""

from gridlane.frontends.python import libdevice_functions
from gridlane.frontends.python.calls.libdevice import BUILDS, TYPES
from gridlane.frontends.python.libdevice_lengths import LENGTHS
from gridlane.frontends.python.translation import translate_device

__all__ = ["BUILDS", "LENGTHS", "TYPES", "libdevice_functions", "translate_device"]
