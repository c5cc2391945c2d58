"""The caller's hint which copies a host array needs around a launch."""

from __future__ import annotations

from typing import Any


class Hint:
    """An argument, ``value``, and its copies; see ``cuda.In``."""

    copy_in = True
    copy_out = True

    def __init__(self, value: Any) -> None:
        self.value = value
