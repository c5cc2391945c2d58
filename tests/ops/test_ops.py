"""Every op, over every type that it takes, gives on each device what the interpreter says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pytest
from tests.devices import DEVICES, WORDS, Outcome, assert_same, run_on
from tests.effort import FRAGMENTS_BY_DAY, NIGHTLY

from gridlane.backends import backend, backends
from gridlane.compiler.generation import runs_in_parts
from gridlane.conformance.cases import INEXACT, Case, arithmetic
from gridlane.conformance.suite import cases, lack, lacks
from gridlane.core.errors import TargetError
from gridlane.ir.families import MATRIX
from gridlane.ir.stages import TILE
from gridlane.ir.verifier import verify


@lru_cache(maxsize=8)
def interpreted(number: int) -> Outcome:
    """The interpreter's answer to a case."""
    return run_on("interp", *launch_of(cases()[number]))


def launch_of(case: Case) -> tuple[Any, ...]:
    """What ``run_on`` takes behind the device."""
    return case.module, case.grid, case.block, case.arrays, (), case.shared


AT_NIGHT = (
    r"\w+-(?!(i32|u32|f32)-)\w+-constants",
    r"\w+-(\w+)-by-(?!(i32|\1)$)\w+",
    "mma-f64-f64-16-8-f64",
    r"\w+-(zero|down)-f32-constants",
    r"(ne|le|gt|ge)-\w+-constants",  # eq and lt are as these
)
"""Cases that devices of 32-bit words take at night alone: they compute the other types in those
words, and their compilers take most of the time."""

OF_WARPS_AT_NIGHT = (r"warp_reduce-\w+-(?!i32|i64)\w+-whole", "active_mask-beside-others-96")
"""The same of devices that compute ops of warps by shared memory and barriers."""

SMALL_AT_NIGHT = (r"(shuffle|warp_reduce)-\w+-(i16|u16|u32|i64|f16)(-\w+)?",)
"""Cases that by day ``vulkan`` leaves out: the other types of each size are tried."""

ON_ONE_BY_DAY = (r"(shuffle|warp_reduce)-\w+-(?!i32|u64|f32)\w+", "active_mask-beside-others-40")
"""Cases of these devices that by day one of them tries, ``vulkan``: one pass makes all of them,
and the drivers' compilers take most of the time."""


def is_late(case: Case, device: str) -> bool:
    """Whether a case is for the night."""
    if case.op in MATRIX and device != "cuda":
        return not re.fullmatch(FRAGMENTS_BY_DAY, case.label)
    late = AT_NIGHT if device in WORDS else ()
    late += OF_WARPS_AT_NIGHT if device not in ("cpu", "cuda") else ()
    late += ON_ONE_BY_DAY if device not in ("cpu", "cuda", "vulkan") else ()
    late += SMALL_AT_NIGHT if device == "vulkan" else ()
    return any(re.fullmatch(each, str(case)) for each in late)


def tried() -> Iterator[Any]:
    """Each case on each device; the devices of a case behind each other."""
    for number, case in enumerate(cases()):
        for device in DEVICES:
            marks = [pytest.mark.nightly] if is_late(case, device) else []
            yield pytest.param(number, device, id=f"{case}-{device}", marks=marks)


@pytest.mark.parametrize(("number", "device"), list(tried()))
def test_op(number: int, device: str) -> None:
    case = cases()[number]
    undefined = backend(device).undefined.get(str(case))
    if undefined is not None:
        pytest.skip(undefined)
    refused = None if runs_in_parts(case.module, backend(device)) else lack(case, device)
    if refused is not None:
        with pytest.raises(TargetError) as caught:
            run_on(device, *launch_of(case))
        assert_names(caught.value.message, case.op, device, refused.says)
        return
    # Code for compact launches differs in addresses and 64-bit integers: by day the cases of
    # arithmetic take turns.
    only = None if NIGHTLY or case.op not in ARITHMETIC else number
    wanted, got = interpreted(number), run_on(device, *launch_of(case), only=only)
    assert got.raised == wanted.raised
    assert_same(got.arrays, wanted.arrays, case.labels)


ARITHMETIC = {case.op for case in arithmetic()}
SHOWN = {"cuda": "NVIDIA", "webgpu": "WebGPU", "opengl": "OpenGL", "metal": "Metal"}


def assert_names(message: str, op: str, device: str, reason: str) -> None:
    """A refusal names the op, the device and the reason."""
    assert reason in message and op in message
    assert device in message or SHOWN.get(device, device) in message


@pytest.mark.parametrize("case", cases(), ids=str)
def test_case_is_valid(case: Case) -> None:
    verify(case.module, TILE)
    assert case.op in {op.name for f in case.module.functions.values() for op in f.body.walk()}
    assert len(case.arrays) == len(case.module.kernel.params)


def test_every_op_has_a_case() -> None:
    covered = {case.op for case in cases()} | {cls.name for cls in INEXACT}
    assert covered == TILE


def test_every_lack_is_of_a_case() -> None:
    for record in backends():
        met = {lack(case, record.name) for case in cases()}
        assert met - {None} == set(lacks(record.name))


def test_names_are_unique() -> None:
    names = [str(case) for case in cases()]
    assert len(set(names)) == len(names)
