"""The GLSL and WGSL of every op: accepted by the validators, and computing what the interpreter
does where a driver runs it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import numpy as np
import pytest
from tests.devices import Outcome, assert_same, run_on
from tests.ops.cases import INEXACT, Case, arithmetic, emitting, over
from tests.ops.effects import case as effect
from tests.ops.effects import effects, out
from tests.ops.kernels import Kernel
from tests.ops.special import special
from tests.ops.test_math_ulp import column, distance
from tests.shaders import heap, opengl, webgpu

from gridlane.compiler import generate
from gridlane.core.artifact import Artifact
from gridlane.core.dtypes import ALL, f32, i32, u32
from gridlane.core.errors import TargetError
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.op import REGISTRY, Op
from gridlane.ir.ops import math, warp

CASES = [*arithmetic(), *effects()]
OPS = sorted({case.op for case in CASES})
IN_CI = bool(os.environ.get("CI"))


EXACT = KernelOptions(fp64="exact")

WIDE_ATOMIC = re.compile(r"(\w+-)?[iuf]64\b")
IN_HALVES = {f"{op}-{t}64-together" for op in ("add", "sub", "and", "or", "xor") for t in "iu"}
REFUSED = {
    "opengl": {"fence": "the host sees"},
    "webgpu": {"fence": "barriers of the block alone"},
}
SAID = {"grid_sync": "no grid_sync"}
OTHERWISE = {"read-ptr<f32, global>", "write-ptr<f32, global>"}
"""Their pointers are numbers of 64 bits that point nowhere; pointers have 32 here."""


def refusal(case: Case, target: str) -> str:
    """A word of why a target refuses a case, or "" when it does not."""
    if case.op in ("atomic", "atomic_cas") and WIDE_ATOMIC.match(case.label):
        return "" if case.label in IN_HALVES else "atomics have 32 bits"
    return (SAID | REFUSED[target]).get(str(case), "")


def at(case: Case, target: str, features: str = "") -> Target:
    """The target of a case, with its block shape."""
    return Target(target, case.block, "", features)


def made(op: str, target: str, features: str = "") -> list[tuple[Case, Artifact]]:
    """The kernels of the cases of an op that the target does not refuse."""
    found: list[tuple[Case, Artifact]] = []
    for case in CASES:
        if case.op != op or str(case) in OTHERWISE:
            continue
        why = refusal(case, target)
        if not why:
            found.append((case, generate(case.module, at(case, target, features), EXACT)))
            continue
        with pytest.raises(TargetError, match=why):
            generate(case.module, at(case, target, features), EXACT)
    return found


@pytest.mark.skipif(not (opengl.validator() or IN_CI), reason="no glslangValidator")
@pytest.mark.parametrize("features", ["", "es"])
@pytest.mark.parametrize("op", OPS)
def test_glsl_is_valid(op: str, features: str) -> None:
    texts = [(case, kernel.code.decode()) for case, kernel in made(op, "opengl", features)]
    wrong = [f"{case}: {said}" for case, text in texts if (said := opengl.complaint(text))]
    assert not wrong, "\n".join(wrong)


def on_opengl(case: Case) -> Outcome:
    """What a case computes on OpenGL."""
    artifact = generate(case.module, at(case, "opengl"), EXACT)
    dispatch = opengl.dispatcher(artifact.code.decode(), case.grid, case.shared)
    return heap.run(artifact, dispatch, case.module, case.grid, case.arrays, case.shared)


def on_webgpu(case: Case) -> Outcome:
    """What a case computes on WebGPU."""
    artifact = generate(case.module, at(case, "webgpu"), EXACT)
    text = artifact.code.decode()
    dispatch = webgpu.dispatcher(text, artifact.entry, case.grid, case.shared)
    return heap.run(artifact, dispatch, case.module, case.grid, case.arrays, case.shared)


RUN = {"opengl": on_opengl, "webgpu": on_webgpu}
EXECUTORS = [
    pytest.param(
        "opengl",
        marks=pytest.mark.skipif(not (opengl.context() or IN_CI), reason="no OpenGL 4.3 by EGL"),
    ),
    pytest.param(
        "webgpu",
        marks=pytest.mark.skipif(not (webgpu.device() or IN_CI), reason="no WebGPU adapter"),
    ),
]


def differs(case: Case, target: str) -> str:
    """What a kernel computes otherwise than the interpreter, or ""."""
    wanted = run_on("interp", case.module, case.grid, case.block, case.arrays, (), case.shared)
    got = RUN[target](case)
    try:
        assert got.raised == wanted.raised
        assert_same(got.arrays, wanted.arrays, case.labels)
    except AssertionError as error:
        return f"{case}: {str(error)[:300]}"
    return ""


@pytest.mark.parametrize("target", EXECUTORS)
@pytest.mark.parametrize("op", OPS)
def test_op(op: str, target: str) -> None:
    cases = [case for case, _ in made(op, target)]
    if (op, target) == ("shuffle", "opengl"):
        cases = each_type_once(cases)
    wrong = [text for case in cases if (text := differs(case, target))]
    assert not wrong, "\n".join(wrong)


def each_type_once(cases: list[Case]) -> list[Case]:
    """Of cases for each mode and type, those of one mode for each type: llvmpipe takes seconds to
    compile the barriers of each."""
    types = len(ALL)
    assert len(cases) == 4 * types
    return [cases[n % 4 * types + n] for n in range(types)]


def warp_cases() -> Iterator[Case]:
    """Warp ops that all threads of a block run, also where its last warp is not full."""
    for threads in (96, 40):

        def exchange(kernel: Kernel) -> list[np.ndarray]:
            b = kernel.builder
            value = kernel.load(i32)
            odd = b.eq(b.and_(value, b.const(1, i32)), b.const(1, i32))
            for bits in (0xFFFFFFFF, 0x0F0F00F1):
                mask = b.const(bits, u32)
                ops: list[Op] = [warp.Vote(mode, mask, odd) for mode in warp.VoteMode]
                ops += [warp.MatchAny(mask, value), warp.MatchAll(mask, value)]
                ops += [warp.WarpReduce(kind, mask, value) for kind in warp.WarpReduction]
                for op in ops:
                    for result in b.emit(op).results:
                        kernel.store(result)
            kernel.store(b.value(warp.ActiveMask()))
            types = [param.value.type.element for param in kernel.function.params]
            data = np.where(np.arange(192) % 96 < 32, 7, np.arange(192) % 5).astype(np.int32)
            return [data, *(out(type_) for type_ in types[1:])]

        yield effect("warp", f"{threads}", exchange, (threads, 1, 1))


@pytest.mark.parametrize("target", EXECUTORS)
@pytest.mark.parametrize("case", [*warp_cases()], ids=str)
def test_warps_in_step(case: Case, target: str) -> None:
    assert not differs(case, target)


@pytest.mark.parametrize("target", EXECUTORS)
def test_functions_are_close(target: str) -> None:
    """The functions that gridlane brings along, of f32, within what is allowed on other devices."""
    for name in sorted(cls.name for cls in INEXACT):
        count = 2 if issubclass(REGISTRY[name], math.MathBinary) else 1
        columns = [column(f32, f"{name}{n}", 500) for n in range(count)]
        case = over(name, "", [f32] * count, columns, emitting(REGISTRY[name]))
        wanted = run_on("interp", case.module, case.grid, case.block, case.arrays).arrays[-1]
        ulp = distance(RUN[target](case).arrays[-1], wanted)
        assert ulp.max() <= (11 if name == "tgamma" else 4), name


@pytest.mark.parametrize("target", EXECUTORS)
def test_reports(target: str) -> None:
    """Where a thread raised, and what one printed."""
    raising, printing = (next(c for c in CASES if c.op == op) for op in ("raise", "print"))
    report = RUN[target](raising).report.view("u4")
    assert report[:8].tolist() == [1, 1, 37, 0, 0, 0, 0, 0]
    report = RUN[target](printing).report.view("u4")
    assert report[8] == 24
    assert report[16:22].tolist() == [1, 0, 3, 0, 0x3F000000, 0]


def by_constants() -> Case:
    """Quotients and remainders by constants, of which most need no test for 0 and -1."""

    def build(b, value):
        divisors = [b.const(n, i32) for n in (7, -3, 1, -(2**31), 0, -1, 2**31 - 1)]
        return [op(value, n) for n in divisors for op in (b.div, b.rem)]

    return over("div", "by-constants", [i32], [special(i32, 40)], build)


@pytest.mark.parametrize("target", EXECUTORS)
def test_division_by_constants(target: str) -> None:
    assert not differs(by_constants(), target)


def test_the_block_shape_is_asked_for() -> None:
    case = next(case for case in CASES if case.op == "barrier")
    with pytest.raises(TargetError, match="block shape"):
        generate(case.module, Target("webgpu"))
