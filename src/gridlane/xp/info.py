"""What the namespace and its devices can, as the array API standard asks."""

from __future__ import annotations

from typing import Any

import numpy as np

from gridlane.backends import names
from gridlane.core.errors import GridlaneError
from gridlane.launch import current
from gridlane.launch.devices import device_count
from gridlane.xp.dtypes import DTYPES, KINDS, letter


class Information:
    """The object of ``__array_namespace_info__()``."""

    def capabilities(self) -> dict[str, Any]:
        """What the standard leaves open: masks as indices and results of unknown shapes work."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": None,
        }

    def default_device(self) -> str:
        """The name of the device of new arrays."""
        return current.name()

    def default_dtypes(self, *, device: str | None = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of arrays that are made without one."""
        return {
            "real floating": DTYPES["float64"],
            "complex floating": DTYPES["complex128"],
            "integral": DTYPES["int64"],
            "indexing": DTYPES["int64"],
        }

    def devices(self) -> tuple[str, ...]:
        """The names of the devices of this machine: a tuple since the standard's 2025.12."""
        return tuple(
            [f"{kind}:{each}" if each else kind for kind in names() for each in range(_count(kind))]
        )

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, np.dtype[Any]]:
        """The standard's dtypes by their names, of all kinds or of some.

        Raises:
            ValueError: the standard has no such kind.
        """
        kinds = [kind] if isinstance(kind, str) else list(KINDS) if kind is None else list(kind)
        unknown = [each for each in kinds if each not in KINDS]
        if unknown:
            raise ValueError(f"no kind {unknown[0]!r}; kinds are {', '.join(KINDS)}")
        letters = "".join(KINDS[each] for each in kinds)
        return {
            name: dtype
            for name, dtype in DTYPES.items()
            if name not in ("float16", "bfloat16") and letter(dtype) in letters
        }


def _count(kind: str) -> int:
    """The devices of a kind; 0 where its libraries are not installed."""
    try:
        return device_count(kind)
    except (ImportError, GridlaneError):
        return 0


def namespace_info() -> Information:
    """What ``gridlane.xp`` can."""
    return Information()
