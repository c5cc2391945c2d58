"""A kernel that is split at its grid barriers: how the host drives its parts, and their memory.

Each part is a kernel of its own. It has the kernel's parameters, then the address of the launch's
memory and the number of the step, and begins at the kernel's start or behind a barrier. Before a
part ends, each of its threads stores the number of the step in the word of the barrier that it has
come to; word 0 is the end of the kernel. So the host sees whether all threads go on together. Where
some may end before others, those that are left go on together.
"""

from __future__ import annotations

import json

from gridlane.core.errors import KernelError
from gridlane.core.frozen import frozen
from gridlane.core.source import UNKNOWN, Loc, describe

FORMAT = "parts"
"""The format of an artifact that holds a plan, as JSON, and no code."""


@frozen
class GridPlan:
    """The parts of a kernel; number 0 begins at its start, others behind the barrier of their
    number.

    Attributes:
        outcomes: for each part, the barriers that its threads may reach; 0 is the end.
        places: of each barrier; that of 0 is unknown.
        common_bytes: kept for all threads together across barriers, at one step.
        thread_bytes: kept for each thread.
        block_bytes: of static shared memory kept for each block.
        keeps_dynamic: whether dynamic shared memory is kept as well.
        ends_apart: whether threads may end while others go on.
    """

    outcomes: tuple[tuple[int, ...], ...]
    places: tuple[Loc, ...]
    common_bytes: int
    thread_bytes: int
    block_bytes: int
    keeps_dynamic: bool
    ends_apart: bool

    @property
    def head_bytes(self) -> int:
        """What is in front of the memory of threads: the words of the barriers, and what all
        threads have in common, twice: steps with even and odd numbers take turns."""
        return flag_bytes(len(self.outcomes)) + 2 * self.common_bytes

    def memory_bytes(self, blocks: int, threads: int, dynamic: int) -> int:
        """The memory of a launch.

        >>> plan = GridPlan(((0, 1), (0,)), (UNKNOWN, UNKNOWN), 0, 12, 8, True, False)
        >>> plan.memory_bytes(2, 32, 5)
        808

        Args:
            threads: of a block.
            dynamic: bytes of dynamic shared memory.
        """
        own = self.block_bytes + (dynamic_bytes(dynamic) if self.keeps_dynamic else 0)
        kept = -(-self.thread_bytes * blocks * threads // 8) * 8
        return self.head_bytes + kept + blocks * own

    def missed(self, name: str, reached: list[int]) -> KernelError:
        """The error if threads diverge at the end of a part.

        Args:
            reached: the barriers that some threads have reached.
        """
        first, *others = sorted(reached, reverse=True)
        here = self.places[first]
        message, there = "others have ended", UNKNOWN
        if 0 not in others:
            there = self.places[others[0]]
            message = f"others wait at the one at {there}"
        text = (
            f"grid_sync: not all threads of the grid of {name} reach this barrier: some do, "
            f"{message} (at {here})"
        )
        return KernelError("\n".join(filter(None, (text, describe(here), describe(there)))))


def flag_bytes(parts: int) -> int:
    """The bytes of a word for each part, in front of words of 8 bytes."""
    return -(-4 * parts // 8) * 8


def dynamic_bytes(size: int) -> int:
    """The bytes kept of so much dynamic shared memory, which is kept by words."""
    return -(-size // 8) * 8


def to_json(plan: GridPlan) -> bytes:
    """A plan as the code of an artifact."""
    fields = {
        "outcomes": plan.outcomes,
        "places": [_place(loc) for loc in plan.places],
        "common_bytes": plan.common_bytes,
        "thread_bytes": plan.thread_bytes,
        "block_bytes": plan.block_bytes,
        "keeps_dynamic": plan.keeps_dynamic,
        "ends_apart": plan.ends_apart,
    }
    return json.dumps(fields, separators=(",", ":")).encode()


def from_json(code: bytes) -> GridPlan:
    """The plan that ``to_json`` encoded."""
    fields = json.loads(code)
    return GridPlan(
        tuple(tuple(each) for each in fields["outcomes"]),
        tuple(_loc(each) for each in fields["places"]),
        fields["common_bytes"],
        fields["thread_bytes"],
        fields["block_bytes"],
        fields["keeps_dynamic"],
        fields["ends_apart"],
    )


def _place(loc: Loc | None) -> list[object] | None:
    if loc is None or loc == UNKNOWN:
        return None
    return [loc.file, loc.line, loc.column, loc.end_column, loc.function, _place(loc.caller)]


def _loc(place: list[object] | None) -> Loc:
    if place is None:
        return UNKNOWN
    *fields, caller = place
    return Loc(*fields, _loc(caller) if caller else None)  # type: ignore[arg-type]  # as written
