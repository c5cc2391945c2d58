"""The text of a line that a kernel printed, from the bits of its arguments."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from gridlane.core.artifact import PrintSite
from gridlane.core.c_formats import joined
from gridlane.core.dtypes import DType


def line(site: PrintSite, cells: int) -> str:
    """Format what a kernel printed, with its end; ``cells`` is the address of one 8-byte cell for
    each argument."""
    values = [_cell(dtype, cells + 8 * index) for index, dtype in enumerate(site.dtypes)]
    return joined(site.parts, site.formats, values) + site.end


def _cell(dtype: DType, address: int) -> Any:
    raw = ctypes.string_at(address, dtype.size)
    return np.frombuffer(raw, dtype.numpy)[0]
