"""Arrays on any device.

>>> from gridlane import xp
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> x * x + 1
array([ 2.,  5., 10.])
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "Array": "array",
    "asarray": "creation",
}
"""The module of each name that is no operation."""


def __getattr__(name: str) -> Any:
    """Import a name at its first use."""
    home = _HOMES.get(name)
    if home is not None:
        value = getattr(import_module(f"gridlane.xp.{home}"), name)
    else:
        from gridlane.xp.operations import OPERATIONS

        if name not in OPERATIONS:
            raise AttributeError(f"module 'gridlane.xp' has no attribute {name!r}")
        from gridlane.xp.functions import function

        value = function(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from gridlane.xp.operations import OPERATIONS

    return sorted({*_HOMES, *OPERATIONS})
