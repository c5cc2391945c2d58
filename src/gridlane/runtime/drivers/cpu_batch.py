"""Launches of the CPU device that one call of C makes, one after the other."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np

from gridlane.core.cpu_abi import REPORT
from gridlane.core.device_errors import KernelStop
from gridlane.runtime.batches import GridLaunch
from gridlane.runtime.drivers.cpu_native import pool
from gridlane.runtime.host_device import MachineCode

_AT_ONCE = 64
"""Launches of one call. Between calls, and in launches that take long, Python handles signals."""
_ALIGN = 64
_LAUNCH = np.dtype([("plan", "u8"), ("params", "u8"), ("grid", "i4", 3), ("shared", "i4")])
_Report = ctypes.c_int64 * (REPORT + 1)
"""A launch's, and behind it the number of the launch that failed."""


class CpuBatch:
    """See ``batches.Batch``. Several threads may run it at once.

    Args:
        launches: of kernels with machine code.
        may_run: whether nobody observes launches now.
    """

    def __init__(self, launches: Sequence[GridLaunch], may_run: Callable[[], bool]) -> None:
        self._launches, self.may_run = tuple(launches), may_run
        sizes = [-(-len(each.params) // _ALIGN) * _ALIGN for each in launches]
        self._params = np.zeros(sum(sizes) + _ALIGN, np.uint8)
        place = -self._params.ctypes.data % _ALIGN
        self._table = np.zeros(len(launches), _LAUNCH)
        for row, each, size in zip(self._table, launches, sizes, strict=True):
            code: MachineCode = each.kernel.machine_code
            self._params[place : place + len(each.params)] = np.frombuffer(each.params, np.uint8)
            row["plan"], row["params"] = code.plan, self._params.ctypes.data + place
            row["grid"], row["shared"] = each.grid, each.shared
            place += size
        self._address, self._launch_all = self._table.ctypes.data, pool().launch_all

    def run(self) -> None:
        """Launch all; hot."""
        count, size = len(self._launches), _LAUNCH.itemsize
        report = _Report()
        where = ctypes.addressof(report)
        for first in range(0, count, _AT_ONCE):
            number = min(_AT_ONCE, count - first)
            code = self._launch_all(self._address + first * size, number, where)
            if code:
                self._fail(code, self._launches[first + report[REPORT]], where)

    def _fail(self, code: int, launch: GridLaunch, report: int) -> NoReturn:
        machine_code: MachineCode = launch.kernel.machine_code
        try:
            machine_code.fail(code, report, *launch.grid[:2])
        except KernelStop as error:
            raise launch.explain(error) from None
