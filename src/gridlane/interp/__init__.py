"""The executable definition of the IR: slow, exact, with every memory access checked."""

from gridlane.interp.machine import RunResult, run
from gridlane.interp.memory import Memory

__all__ = ["Memory", "RunResult", "run"]
