"""The cases of conformance by LLVM's PTX: an op, compiled for NVIDIA and read back from its PTX, is
the op.

LLVM's NVPTX backend writes what clang writes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gridlane import compiler, cuda
from gridlane.conformance.cases import INEXACT, Case, arithmetic
from gridlane.conformance.effects import effects
from gridlane.conformance.module_runner import assert_same, run_on
from gridlane.core.errors import TargetError
from gridlane.core.options import KernelOptions, Target
from gridlane.frontends.ptx import parse_ptx
from gridlane.ir.families import CLUSTERS, MBARRIERS, WARPGROUPS
from gridlane.ir.types import PointerType
from gridlane.launch import current
from gridlane.launch.devices import get_device

PARTS = 8
"""``make test-all`` runs all parts; a case of each op is in the first."""
_NAMES = {op.name for op in INEXACT}
ABSENT = {
    "grid_sync": "grids that synchronise",
    "raise": "errors are reported through an address that the launch sets",
    "report": "as above",
    "run_others": "PTX has no word for it, and warps that wait for each other need it",
    "print": "lines are reported through an address that the launch sets",
    "tile_print": "as above",
    "tile_stop_if": "as raise",
}
"""Ops whose PTX the frontend does not translate."""


def cases() -> Iterator[Case]:
    """A part of the cases of each op."""
    seen: dict[str, int] = {}
    for case in (*arithmetic(), *effects()):
        if case.op in _NAMES or case.op in ABSENT or case.op.startswith("fragment"):
            continue  # functions are libdevice's; matrices are not translated
        number = seen[case.op] = seen.get(case.op, -1) + 1
        if number % PARTS == 0:
            yield case


@pytest.mark.parametrize("case", list(cases()), ids=str)
def test_an_op_by_its_ptx(case):
    try:
        is_newer = case.op in WARPGROUPS | MBARRIERS | CLUSTERS
        target = Target("cuda", processor="sm_90a" if is_newer else "sm_80")
        text = compiler.text(case.module, target, "asm", KernelOptions())
    except TargetError:
        return  # the op is not for NVIDIA, which tests/ops holds
    if "fma.rz" in text or "div.full" in text:
        return  # the remainder of libdevice
    kernel = cuda.RawKernel(text, parse_ptx(text).entries[0])
    wanted = run_on("interp", case.module, case.grid, case.block, case.arrays, (), case.shared)
    for device in ("interp", "cpu"):
        arrays = launched(device, kernel, case)
        assert_same(arrays, wanted.arrays, case.labels or [str(n) for n in range(len(arrays))])


def launched(device: str, kernel: cuda.RawKernel, case: Case) -> list[np.ndarray]:
    """The arrays after the kernel."""
    opened = get_device(device)
    current.choose(opened)
    buffers = [opened.allocate(max(1, array.nbytes)) for array in case.arrays]
    for buffer, array in zip(buffers, case.arrays, strict=True):
        opened.upload(buffer.address, _bytes(np.ascontiguousarray(array)))
    assert all(isinstance(p.value.type, PointerType) for p in case.module.kernel.params)
    addresses = tuple(buffer.address for buffer in buffers)
    kernel(case.grid, case.block, addresses, shared_mem=case.shared)
    opened.default_stream.synchronize()
    made = [np.empty_like(np.ascontiguousarray(array)) for array in case.arrays]
    for buffer, array in zip(buffers, made, strict=True):
        opened.download(_bytes(array), buffer.address)
    return made


def _bytes(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data
