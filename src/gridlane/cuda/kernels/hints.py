"""Which copies a host array needs round a launch, as its caller says."""

from __future__ import annotations

from typing import Any


class Hint:
    """An argument, ``value``, and which copies of it are made; see ``cuda.In``."""

    copy_in = True
    copy_out = True

    def __init__(self, value: Any) -> None:
        self.value = value
