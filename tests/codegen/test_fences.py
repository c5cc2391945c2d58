"""Fences and barriers in the text of each language, by its specification. Devices on the processor
keep memory in order without most of them, so that running says little."""

from __future__ import annotations

import pytest

from gridlane.compiler import generate
from gridlane.core.errors import TargetError
from gridlane.core.options import Target
from gridlane.ir.parser import parse_module

METAL = "mem_flags::mem_device | mem_flags::mem_threadgroup"
BARRIERS = {
    "opengl": ["memoryBarrierBuffer();", "memoryBarrierShared();", "barrier();"],
    "webgpu": ["storageBarrier();", "workgroupBarrier();"],
    "metal": [f"threadgroup_barrier({METAL});"],
    "cuda": ["bar.sync \t0;"],
}
WORDS = "emoryBarrier", "arrier(", "bar.sync", "fence", "membar"


def ordering(op: str, target: str) -> list[str]:
    """The lines of a kernel's text that order memory or threads."""
    module = parse_module(f"kernel @k() {{ {op} }}")
    chosen = Target(target, (32, 1, 1), "sm_80" if target == "cuda" else "")
    lines = generate(module, chosen).code.decode().splitlines()
    return [line.strip() for line in lines if any(word in line for word in WORDS)]


def test_a_barrier_orders_shared_and_global_memory() -> None:
    assert {target: ordering("barrier", target) for target in BARRIERS} == BARRIERS


@pytest.mark.parametrize("order", ["acquire", "release", "acq_rel", "seq_cst"])
@pytest.mark.parametrize("scope", ["block", "device"])
def test_a_fence_of_each_order(scope: str, order: str) -> None:
    op = f"fence {scope} [order={order}]"
    of_metal = "threadgroup" if scope == "block" else "device"
    metal = f"atomic_thread_fence({METAL}, memory_order_seq_cst, thread_scope_{of_metal});"
    own, old = ("cta", "cta") if scope == "block" else ("gpu", "gl")
    ptx = f"membar.{old};" if order == "seq_cst" else f"fence.acq_rel.{own};"
    assert ordering(op, "opengl") == ["memoryBarrier();"]
    assert ordering(op, "metal") == [metal]
    assert ordering(op, "cuda") == [ptx]
    with pytest.raises(TargetError, match="WGSL orders memory by barriers of the block alone"):
        ordering(op, "webgpu")


def test_a_relaxed_fence_orders_nothing() -> None:
    assert not any(ordering("fence device [order=relaxed]", target) for target in BARRIERS)
