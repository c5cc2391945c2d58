"""A row of the table of failures."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """A failure of CUDA's driver and runtime, which share their numbers.

    Attributes:
        driver: its name among the driver's; "" where the driver has none.
        runtime: its name among the runtime's; "" where the runtime has none.
        meaning: what happened.
        advice: the user's remedy; "" where there is none.
    """

    driver: str
    runtime: str
    meaning: str
    advice: str = ""

    @property
    def name(self) -> str:
        """The driver's name, or the runtime's where that is the only one."""
        return self.driver or self.runtime
