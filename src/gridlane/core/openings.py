"""The open devices, and what rooms above the devices do with each when it is opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

AT_OPENING: list[Callable[[Any], object]] = []
OPENED: dict[str, Any] = {}
"""By the name."""
