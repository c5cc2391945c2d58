"""The table of every failure that CUDA 13's driver and runtime number.

Numbers and names are the enumerations' in ``cuda_table``; ``errors.txt`` there has the words.
"""

from __future__ import annotations

from typing import NamedTuple

from gridlane.core.cuda_text import lines, numbers

CATEGORIES = {
    "memory": "there was not enough memory, or it was not mapped",
    "launch": "the device cannot perform the launch",
    "compile": "the code does not compile, link or load",
    "fault": "a running kernel failed",
    "lost": "the device or its context is gone, with the memory that it had",
    "unsupported": "the device, the driver or gridlane does not support it",
    "use": "the program made a call with a wrong value or in a wrong state",
    "system": "the machine: its drivers, libraries, limits and processes",
    "none": "no failure",
}
"""What failures are counted by, with the meaning of each."""


class Row(NamedTuple):
    """A failure of CUDA's driver and runtime, which share their numbers.

    Attributes:
        driver: its name among the driver's; "" where the driver has none.
        runtime: its name among the runtime's; "" where the runtime has none.
        category: one of ``CATEGORIES``.
        meaning: what happened.
        advice: the user's remedy; "" for success alone.
    """

    driver: str
    runtime: str
    category: str
    meaning: str
    advice: str = ""

    @property
    def name(self) -> str:
        """The driver's name, or the runtime's where that is the only one."""
        return self.driver or self.runtime


def _table() -> dict[int, Row]:
    of_driver, of_runtime = numbers("cudaError_enum", "cudaError")
    driver = {number: name for name, number in of_driver.items()}
    runtime = {number: name for name, number in of_runtime.items()}
    rows: dict[int, Row] = {}
    number = 0
    for line in lines("errors"):
        if line.startswith("  "):
            rows[number] = rows[number]._replace(advice=line.strip())
            continue
        name, _, rest = line.partition(" ")
        category, _, meaning = rest.partition(": ")
        number = of_driver[name] if name in of_driver else of_runtime[name]
        rows[number] = Row(driver.get(number, ""), runtime.get(number, ""), category, meaning)
    return rows


TABLE = _table()
"""Rows by number."""

NAMES = {name: number for number, row in TABLE.items() for name in row[:2] if name}
"""Numbers by the driver's and the runtime's names."""
