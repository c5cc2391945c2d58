"""Reasons why targets lack an op, and the alternatives, shared by several."""

from __future__ import annotations

from gridlane.ir.families import MBARRIERS

REPORT = {"report": "threads that raise end there"}

CHECKS = dict.fromkeys(
    ("stop_if", "check_access"), "its launches end when all threads have; raise an error instead"
)

WITHOUT_CLUSTERS = dict.fromkeys(
    (
        *("cluster_rank", "cluster_size", "cluster_arrive", "cluster_wait", "cluster_sync"),
        *("peer_address", "mbarrier_expect_peer", "mbarrier_complete_peer"),
    ),
    "cpu, interp and, from compute capability 9.0 on, cuda have clusters: choose one of these, or "
    "let blocks exchange data through global memory",
)

WITHOUT_GRIDS = {
    "grid_sync": "its blocks need not all run at the same time, so that gridlane launches such a "
    "kernel in parts; split it where the grid synchronises to compile each of them",
}

_MBARRIER = (
    "its threads run in no order that lets one wait for others in a loop; let all threads wait at "
    "a barrier of the block (bar.sync)"
)

SHADERS = {
    **dict.fromkeys((*sorted(MBARRIERS), "mbarrier_arrive_peer"), _MBARRIER),
    **dict.fromkeys(
        ("tensor_load", "tensor_store", "tensor_reduce", "tensor_multicast"),
        "it has no mbarriers, which copies of boxes of tensors need; copy the elements in loops",
    ),
    "run_others": "its threads run in no order that lets one wait for others in a loop; let all "
    "threads wait at a barrier of the block (bar.sync)",
    "machine": "its language reads no clock and no number of a multiprocessor; measure on the host",
    "atomic_cas_pair": "its atomics have at most 64 bits; guard the 16 bytes by a lock",
    "barrier_arrive": "its threads run in no order that the program gives; let all threads wait "
    "(bar.sync) at one place of the program",
}

WORD_ATOMICS = (
    ("atomic", r"\w+-[iuf]64-apart|(nan)?(min|max)-[iu]64-together", "atomics have 32 bits"),
    ("atomic_cas", "[iuf]64", "atomics have 32 bits"),
)
"""For ``Backend.refused``: 64-bit atomics, except sums whose old value is unused."""

SHARED_MATRICES = {
    "warpgroup_mma": "its shared memory has no addresses, on which the places of a matrix depend; "
    "multiply by mma, or use cpu, vulkan or cuda",
}
