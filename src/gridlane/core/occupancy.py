"""Occupancy of NVIDIA multiprocessors, by the vendor's formula: from the resources of a kernel and
the attributes of a device.

Source: NVIDIA's CUDA C++ Programming Guide, "Multiprocessor Level" and "Compute Capabilities".
tests/gpu/test_occupancy.py compares it with the driver.
"""

from __future__ import annotations

from collections.abc import Mapping

from gridlane.core.frozen import frozen

_PARTITIONS = 4
"""Parts of a multiprocessor, each with its own registers and scheduler."""
_REGISTER_UNIT = 256
"""Registers are allocated to a warp in units of this many."""
_MOST_REGISTERS = 255
"""Registers that a thread may have."""


@frozen
class Multiprocessor:
    """The resources of a multiprocessor.

    Attributes:
        warp: threads of a warp.
        threads, blocks, registers, shared: the most at once; shared memory in bytes.
        block_threads, block_registers, block_shared: the most of one block.
        reserved_shared: bytes of each block that are the system's.
        shared_unit: bytes in whose units shared memory is allocated.
    """

    warp: int
    threads: int
    blocks: int
    registers: int
    shared: int
    block_threads: int
    block_registers: int
    block_shared: int
    reserved_shared: int
    shared_unit: int


@frozen
class Occupancy:
    """The blocks that a multiprocessor holds at once.

    Attributes:
        blocks: their number.
        warps: the warps of these blocks.
        most_warps: the warps that a multiprocessor holds at most.
        limit: the resource that ends first: "threads", "blocks", "registers" or "shared memory".
    """

    blocks: int
    warps: int
    most_warps: int
    limit: str

    @property
    def share(self) -> float:
        """Warps held, of the most, from 0 to 1."""
        return self.warps / self.most_warps if self.most_warps else 0.0


def multiprocessor(attributes: Mapping[str, int]) -> Multiprocessor:
    """The resources by a device's attributes, with CUDA's names.

    Raises:
        KeyError: the device lacks one of them.
    """
    reserved = attributes.get("RESERVED_SHARED_MEMORY_PER_BLOCK", 0)
    return Multiprocessor(
        warp=attributes["WARP_SIZE"],
        threads=attributes["MAX_THREADS_PER_MULTIPROCESSOR"],
        blocks=attributes["MAX_BLOCKS_PER_MULTIPROCESSOR"],
        registers=attributes["MAX_REGISTERS_PER_MULTIPROCESSOR"],
        shared=attributes["MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"],
        block_threads=attributes["MAX_THREADS_PER_BLOCK"],
        block_registers=attributes["MAX_REGISTERS_PER_BLOCK"],
        block_shared=attributes["MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"],
        reserved_shared=reserved,
        shared_unit=128 if attributes["COMPUTE_CAPABILITY_MAJOR"] >= 8 else 256,
    )


def occupancy(of: Multiprocessor, threads: int, registers: int, shared: int = 0) -> Occupancy:
    """The blocks of a kernel that a multiprocessor holds at once; 0 of those that it cannot run.

    Args:
        threads: of a block.
        registers: of a thread.
        shared: bytes of a block's static and dynamic shared memory.

    >>> a100 = Multiprocessor(32, 2048, 32, 65536, 167936, 1024, 65536, 166912, 1024, 128)
    >>> occupancy(a100, 256, 40)
    Occupancy(blocks=6, warps=48, most_warps=64, limit='registers')
    >>> occupancy(a100, 256, 32, 40000).limit
    'shared memory'
    """
    most, warps = of.threads // of.warp, -(-threads // of.warp)
    room = {
        "threads": most // warps if 0 < threads <= of.block_threads else 0,
        "blocks": of.blocks,
        "registers": _by_registers(of, warps, registers),
        "shared memory": _by_shared(of, shared),
    }
    limit = min(room, key=lambda name: room[name])
    blocks = room[limit]
    return Occupancy(blocks, blocks * warps, most, limit)


def _by_registers(of: Multiprocessor, warps: int, registers: int) -> int:
    if registers <= 0:
        return of.blocks
    of_warp = _rounded(registers * of.warp, _REGISTER_UNIT)
    # A block's warps are spread over the parts, so the fullest part decides.
    of_block = of_warp * _rounded(warps, _PARTITIONS)
    if registers > _MOST_REGISTERS or of_block > of.block_registers:
        return 0
    return of.registers // _PARTITIONS // of_warp * _PARTITIONS // warps


def _by_shared(of: Multiprocessor, shared: int) -> int:
    if shared < 0 or shared > of.block_shared:
        return 0
    of_block = _rounded(shared + of.reserved_shared, of.shared_unit)
    return of.shared // of_block if of_block else of.blocks


def _rounded(number: int, unit: int) -> int:
    return -(-number // unit) * unit
