"""Errors by numba.cuda's names, and the history of this process's errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridlane.core.errors import CompileError as CudaLoweringError
from gridlane.core.errors import DeviceError, KernelError, LaunchError
from gridlane.launch.dimensions import MISSING_CONFIGURATION

KernelRuntimeError = KernelError
missing_launch_config_msg = MISSING_CONFIGURATION
LoweringError = CudaLoweringError
CudaSupportError = CudaAPIError = CudaDriverError = DeviceError

if TYPE_CHECKING:
    from gridlane.core.error_report import Report
    from gridlane.core.error_ring import Entry


def report() -> Report:
    """The errors of this process: the last ones, counts by category and code, and the rates of the
    last minute and the last ten. ``print`` shows it; ``json()`` is for programs.

    >>> from gridlane import cuda
    >>> cuda.errors.clear()
    >>> print(cuda.errors.report())
    no errors
    """
    from gridlane.core import error_file, error_history, error_report  # programs seldom ask

    return error_report.Report(
        error_history.entries(), error_history.counts(), error_file.unwritten()
    )


def history() -> tuple[Entry, ...]:
    """The last errors of this process, oldest first; GRIDLANE_ERROR_HISTORY says how many."""
    from gridlane.core import error_history

    return error_history.entries()


def clear() -> None:
    """Forget the errors of this process, and start the counts again."""
    from gridlane.core import error_history

    error_history.clear()


__all__ = [
    "CudaAPIError", "CudaDriverError", "CudaLoweringError", "CudaSupportError",
    "KernelRuntimeError", "LaunchError", "LoweringError", "clear", "history",
    "missing_launch_config_msg", "report",
]  # fmt: skip
