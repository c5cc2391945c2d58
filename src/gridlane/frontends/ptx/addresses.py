"""Generic addresses as numbers, whose top byte is a tag of the memory.

An address stays a pointer of the IR if pointers.py finds its variable. Otherwise it becomes a
number, the variables of its memory are in one array, and an access with the number chooses among
the arrays by the tag. Addresses of global memory are the device's own, whose top byte is 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from gridlane.frontends.ptx.operands import Address
from gridlane.ir.ops.shared_matrix import ALIGN
from gridlane.ir.types import Space

TAG_SHIFT = 56
DYNAMIC_BIT = 1 << 24
"""It is set in the offset of dynamic shared memory; static shared memory is smaller."""
RANK_SHIFT, RANK_MASK = 25, 31
"""Bits of an address in the shared memory of a cluster: 1 more than the rank of the block whose
memory it is in; 0 of this block's own."""


class Place(Enum):
    """Memory with addresses that are numbers. The value is the tag."""

    GLOBAL = 0
    SHARED = 1
    DYNAMIC = 2
    LOCAL = 3
    CODE = 4
    PEER = 5

    @property
    def start(self) -> int:
        """The address of its first byte; shared memory is one space, with one tag, also that of
        other blocks of the cluster."""
        if self is Place.DYNAMIC:
            return Place.SHARED.start | DYNAMIC_BIT
        if self is Place.PEER:
            return Place.SHARED.start
        return self.value << TAG_SHIFT


PLACES = {
    Space.GLOBAL: (Place.GLOBAL,),
    Space.SHARED: (Place.SHARED, Place.DYNAMIC),
    Space.LOCAL: (Place.LOCAL,),
    Space.GENERIC: (Place.SHARED, Place.DYNAMIC, Place.PEER, Place.LOCAL, Place.GLOBAL),
}
"""The memory that an access to a space may be to; global memory is the last."""
OF_CLUSTER = (*PLACES[Space.SHARED], Place.PEER)
"""The memory that an access to ``.shared::cluster`` may be to."""

SPACE_OF = {
    Place.SHARED: Space.SHARED,
    Place.DYNAMIC: Space.SHARED,
    Place.PEER: Space.SHARED,
    Place.LOCAL: Space.LOCAL,
}


@dataclass(slots=True)
class Numbering:
    """The results of a translation about addresses as numbers, with which the next attempt begins.

    Attributes:
        spaces: those whose variables have addresses as numbers.
        places: where such variables are.
        cycles: the functions that call themselves, also by others.
        frames: whether such functions have local variables: each call has its own, in the first
            part of local memory.
        asks: whether the kernel reads the size of its shared memory.
        described: whether it has descriptors of matrices in shared memory, which hold the low bits
            of addresses.
        size: bytes of its variables in shared memory, if it reads the size or has descriptors.
    """

    spaces: set[Space]
    places: set[Place]
    cycles: set[str] = field(default_factory=set[str])
    frames: bool = False
    asks: bool = False
    described: bool = False
    size: int = 0

    @property
    def first_dynamic(self) -> int:
        """The offset of dynamic shared memory, whose low bits alone tell it from variables where
        there are descriptors."""
        return -(-self.size // ALIGN) * ALIGN if self.described else 0

    def candidates(self, space: Space, of_cluster: bool = False) -> list[Place]:
        """Where the memory at a number may be; ``of_cluster``: of all blocks' shared memory."""
        places = OF_CLUSTER if of_cluster and space is Space.SHARED else PLACES[space]
        return [each for each in places if each is Place.GLOBAL or each in self.places]


class Split(Exception):  # it is caught where it leads to branches
    """An access with a number that may be of several memories: one branch for each."""

    def __init__(self, operand: Address, places: list[Place]) -> None:
        super().__init__()
        self.operand, self.places = operand, places
