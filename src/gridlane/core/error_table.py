"""The table of every failure that CUDA 13's driver and runtime number.

Numbers and names are the enumerations' in ``cuda_table``; ``errors.txt`` there has the words.
"""

from __future__ import annotations

from typing import NamedTuple

from gridlane.core.cuda_text import lines, numbers


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
        name, _, meaning = line.partition(" ")
        number = of_driver[name] if name in of_driver else of_runtime[name]
        rows[number] = Row(driver.get(number, ""), runtime.get(number, ""), meaning)
    return rows


TABLE = _table()
"""Rows by number."""

NAMES = {name: number for number, row in TABLE.items() for name in row[:2] if name}
"""Numbers by the driver's and the runtime's names."""
