"""What the lowering of tiles knows of a target."""

from __future__ import annotations

from gridlane.core.frozen import frozen
from gridlane.ir.ops.products import Factor

WARP = 32


@frozen
class TileMachine:
    """The threads that run a program, and the memory that they share.

    Attributes:
        most_warps: the largest number of warps of a block.
        shared: bytes of shared memory of a block.
        lockstep: a block is one warp whose lanes do each op together, so that none waits for
            another one.
        factors: those of products that the target has matrix instructions for.
        vectors: a thread accesses up to 16 bytes of device memory at once.
        groups: it has the instructions of warpgroups.
        opaque: matrix instructions are those of fragments, whose elements have no known places.
        static: bytes of shared memory that arrays of a known size may have, where that is less; a
            program with more has dynamic shared memory.
        sums: the most sums of a product that a thread holds in registers; 0 in lockstep.
    """

    most_warps: int
    shared: int
    lockstep: bool = False
    factors: frozenset[Factor] = frozenset()
    sums: int = 0
    static: int = 0
    vectors: bool = False
    groups: bool = False
    opaque: bool = False

    def threads(self, warps: int) -> int:
        """The threads of a block for a program that asks for so many warps: a power of two.

        >>> TileMachine(8, 0).threads(4), TileMachine(8, 0).threads(32)
        (128, 256)
        """
        asked = min(max(warps, 1), self.most_warps)
        return WARP << (asked.bit_length() - 1)
