"""All cases, and which of them targets refuse, with what words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from gridlane.conformance.cases import Case, arithmetic
from gridlane.conformance.effects import effects
from gridlane.conformance.fragments import fragments
from gridlane.ir.stages import MATRIX


@cache
def cases() -> tuple[Case, ...]:
    """Every op over every type that it takes, but the functions that are not exact."""
    return (*arithmetic(), *effects(), *fragments())


@dataclass(frozen=True, slots=True)
class Lack:
    """What some targets refuse.

    Attributes:
        labels: a pattern of the labels of the cases of the op; by default all.
        says: words of the message, which names the op and the target as well.
    """

    targets: tuple[str, ...]
    op: str
    says: str
    labels: str = ".*"


WORDS = ("metal", "webgpu", "opengl")
"""Targets whose atomics have 32 bits."""


def _lacks() -> Iterator[Lack]:
    yield Lack(("cpu", *WORDS), "grid_sync", "its blocks need not all run at the same time")
    yield Lack(("vulkan",), "grid_sync", "Vulkan promises no two blocks to run at a time")
    for op in sorted(MATRIX):
        yield Lack(
            ("cpu", *WORDS), op, "tensor cores are a GPU's; multiply the elements of arrays instead"
        )
        yield Lack(("vulkan",), op, "multiply the elements of arrays instead")
    yield Lack(("cpu", "cuda"), "report", "threads that raise end there")
    ends = "the host sees what a kernel wrote when "
    yield Lack(("metal",), "fence", ends + "it is done")
    yield Lack(("opengl",), "fence", ends + "the kernel is done")
    yield Lack(("webgpu",), "fence", "WGSL orders memory by barriers of the block alone")
    alone = r"\w+-[iuf]64-apart|(nan)?(min|max)-[iu]64-together"
    yield Lack(WORDS, "atomic", "atomics have 32 bits", alone)
    yield Lack(WORDS, "atomic_cas", "atomics have 32 bits", "[iuf]64")


LACKS = tuple(_lacks())


def lack(case: Case, target: str) -> Lack | None:
    """Why a target refuses a case, or None where it must not."""
    found = [
        each
        for each in LACKS
        if target in each.targets and each.op == case.op and re.fullmatch(each.labels, case.label)
    ]
    return found[0] if found else None


OTHERWISE = {
    "cuda": {
        **{f"vote-{mode}-absent": "waits for the absent lanes" for mode in ("all", "any", "eq")},
        "vote-ballot-absent": "waits for the absent lanes",
        "active_mask-beside-others-96": "the mask does not name the lanes that call",
        "active_mask-beside-others-40": "the mask does not name the lanes that call",
        "atomic-add-f32-apart": "atom.add.f32 takes subnormal numbers in global memory as 0",
        "atomic-sub-f32-apart": "as atom.add.f32",
    }
}
"""What hardware leaves undefined, or rounds otherwise, where the IR says what happens."""
