"""How what a device needs is installed."""

from __future__ import annotations


def install(extra: str) -> str:
    """What installs an extra of gridlane, quoted as shells need it.

    >>> install("vulkan")
    "pip install 'gridlane[vulkan]' (in a checkout pip install -e '.[vulkan]')"
    """
    return f"pip install 'gridlane[{extra}]' (in a checkout pip install -e '.[{extra}]')"
