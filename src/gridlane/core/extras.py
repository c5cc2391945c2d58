"""The commands that install a device's dependencies."""

from __future__ import annotations


def install(extra: str) -> str:
    """The command that installs an extra of gridlane, quoted for shells.

    >>> install("vulkan")
    "pip install 'gridlane[vulkan]' (in a checkout pip install -e '.[vulkan]')"
    """
    return f"pip install 'gridlane[{extra}]' (in a checkout pip install -e '.[{extra}]')"
