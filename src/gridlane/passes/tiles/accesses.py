"""What code reads and writes of what threads share, which decides where they meet."""

from __future__ import annotations

from dataclasses import dataclass, field

DEVICE = "device memory"
"""All memory that the program's pointers reach, as a resource."""


@dataclass(slots=True)
class Accesses:
    """What some code reads and writes of what threads share."""

    reads: set[str] = field(default_factory=set[str])
    writes: set[str] = field(default_factory=set[str])
    anything: bool = False
    """Accesses of an earlier iteration, or behind a loop: they may be any of shared memory."""

    @staticmethod
    def any(writes: bool = True) -> Accesses:
        """Any accesses; of device memory none but reads where there are no writes."""
        return Accesses({DEVICE}, {DEVICE} if writes else set(), True)

    def clash(self, later: Accesses) -> bool:
        """Whether threads must meet before later accesses."""
        if self.anything and (later.reads | later.writes) - {DEVICE}:
            return True
        return bool(self.writes & (later.reads | later.writes) or self.reads & later.writes)

    def add(self, other: Accesses) -> None:
        """Note accesses that have happened besides."""
        self.reads |= other.reads
        self.writes |= other.writes
        self.anything |= other.anything
