"""The text of a line that a kernel printed, from the bits of its arguments."""

from __future__ import annotations

import ctypes

import numpy as np

from gridlane.core.artifact import PrintSite
from gridlane.core.dtypes import DType


def line(site: PrintSite, cells: int) -> str:
    """Format a printed line; ``cells`` is the address of one 8-byte cell for each argument."""
    values = iter(_cell(dtype, cells + 8 * index) for index, dtype in enumerate(site.dtypes))
    return "".join(next(values) if part is None else part for part in site.parts)


def _cell(dtype: DType, address: int) -> str:
    raw = ctypes.string_at(address, dtype.size)
    return str(np.frombuffer(raw, dtype.numpy)[0])
