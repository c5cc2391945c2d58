"""The WGSL of every op: taken by Tint, the compiler of Chromium, and computing there on SwiftShader
what the interpreter says."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator

import numpy as np
import pytest
from ml_dtypes import bfloat16
from tests.browser import heap
from tests.browser.chromium import Chromium
from tests.effort import FRAGMENTS_BY_DAY, NIGHTLY, examples

from gridlane.compiler import generate
from gridlane.conformance.cases import Case
from gridlane.conformance.module_runner import EXACT, Outcome, assert_same, bits, run_on
from gridlane.conformance.suite import cases, lack
from gridlane.core.artifact import Artifact
from gridlane.core.options import Target
from gridlane.ir.families import MATRIX

OPS = sorted({case.op for case in cases() if not lack(case, "webgpu")})

JUDGED, RUN = 30_000, 6_000
"""Characters of a kernel's text up to which Tint judges it, and SwiftShader runs it: of longer ones
of an op the shortest is judged. SwiftShader takes seconds for those, which naga's tests run."""
MOST_SLOW = examples(4, 1000)
"""About so many kernels of an op with barriers are run: SwiftShader takes a second for each."""
FLUSHED = (np.dtype(np.float32), np.dtype(bfloat16))


def is_short(case: Case) -> bool:
    """Whether a case's text may be short: binary64 is long, so are shuffles of small types, and
    constants are cases of many ops."""
    if "f64" in case.label or (case.op == "shuffle" and not case.label.endswith("32")):
        return False
    if case.op in MATRIX and not NIGHTLY and not re.fullmatch(FRAGMENTS_BY_DAY, case.label):
        return False
    return not case.label.endswith("constants") or case.label.startswith("f32")


def made(op: str) -> list[tuple[Case, Artifact]]:
    """The kernels of the short cases of an op."""
    found = []
    for case in cases():
        if case.op == op and is_short(case) and not lack(case, "webgpu"):
            found.append((case, generate(case.module, Target("webgpu", case.block), EXACT)))
    return sorted(found, key=lambda pair: len(pair[1].code))


def judged(kernels: list[tuple[Case, Artifact]]) -> list[tuple[Case, Artifact]]:
    """Those that Tint judges."""
    short = [pair for pair in kernels if len(pair[1].code) <= JUDGED]
    return kernels[: len(short) + 1] if NIGHTLY else kernels[: len(short) + 1 : 3]


def complaints(page: Chromium, kernels: list[tuple[Case, Artifact]]) -> Iterator[str]:
    """What Tint says against kernels."""
    texts = [artifact.code.decode() for _, artifact in kernels]
    said = page.run(f"Promise.all({json.dumps(texts)}.map(shaders.judge))")
    for (case, _), error in zip(kernels, said, strict=True):
        if error:
            yield f"{case}: {error}"


def on_page(page: Chromium, case: Case, artifact: Artifact, arrays: list[np.ndarray]) -> Outcome:
    """What a kernel computes in the browser."""
    constants = {"dynamic_words": case.shared // 4} if artifact.uses_dynamic_shared else {}

    def dispatch(*blocks: bytes) -> bytes:
        job = {
            "source": artifact.code.decode(),
            "entry": artifact.entry,
            "constants": {"dynamic_words": case.shared // 4}
            if artifact.uses_dynamic_shared
            else {},
            "grid": case.grid,
            "blocks": [base64.b64encode(block).decode() for block in blocks],
        }
        answer = page.run(f"shaders.run({json.dumps(job)})")
        assert "error" not in answer, answer["error"]
        return base64.b64decode(answer["heap"])

    return heap.run(case, artifact, arrays, dispatch)


def flushed(array: np.ndarray) -> np.ndarray:
    """An array with zeros for subnormal numbers, which WGSL allows and SwiftShader makes."""
    if array.dtype not in FLUSHED:
        return array
    raw = array.view(f"u{array.dtype.itemsize}").copy()
    exponent, sign = (0x7F80, 0x8000) if raw.itemsize == 2 else (0x7F800000, 0x80000000)
    raw[(raw & exponent) == 0] &= sign
    return raw.view(array.dtype)


def differs(page: Chromium, case: Case, artifact: Artifact) -> str:
    """What a kernel computes otherwise than the interpreter, or ""."""
    given = [flushed(array) for array in case.arrays]
    wanted = run_on("interp", case.module, case.grid, case.block, given, (), case.shared)
    try:
        got = on_page(page, case, artifact, given)
        assert got.raised == wanted.raised
        arrays = [[flushed(array) for array in arrays] for arrays in (got.arrays, wanted.arrays)]
        assert_same(*arrays, case.labels)
    except AssertionError as error:
        return f"{case}: {str(error)[:300]}"
    return ""


@pytest.mark.parametrize("op", OPS)
def test_op(op: str, shaders: Chromium) -> None:
    """Tint takes the cases of an op; the short ones compute the same."""
    kernels = made(op)
    wrong = [*complaints(shaders, judged(kernels))]
    short = [pair for pair in kernels if len(pair[1].code) <= RUN]
    slow = [pair for pair in short if b"Barrier" in pair[1].code]
    short = [pair for pair in short if pair not in slow] + slow[:: max(len(slow) // MOST_SLOW, 1)]
    wrong += [text for case, kernel in short if (text := differs(shaders, case, kernel))]
    assert not wrong, "\n".join(wrong)


def test_tint_complains(shaders: Chromium) -> None:
    """A text that naga takes and Tint does not: a barrier in control flow that is not uniform."""
    text = """
@compute @workgroup_size(64)
fn entry(@builtin(local_invocation_index) i: u32) {
    if (i < 7u) { workgroupBarrier(); }
}
"""
    assert "uniform" in shaders.run(f"shaders.judge({json.dumps(text)})")


def test_flushing_keeps_the_rest() -> None:
    values = np.array([1e-40, -1e-40, 0.0, 1.5, -np.inf], np.float32)
    assert bits(flushed(values)).tolist() == [0, 1 << 31, 0, 0x3FC00000, 0xFF800000]
