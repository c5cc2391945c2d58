"""The GLSL of every op is accepted by Khronos' reference compiler, for OpenGL and for OpenGL ES.

That it computes what the interpreter does, and WGSL as well, tests/ops tests on the drivers.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest
from tests.effort import NIGHTLY

from gridlane.compiler import generate, translate
from gridlane.conformance.running import EXACT
from gridlane.conformance.suite import cases, lack
from gridlane.core.argtypes import float32
from gridlane.core.errors import TargetError
from gridlane.core.features import features as features_named
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.parser import parse_module

VALIDATOR = shutil.which("glslangValidator")
OPS = sorted({case.op for case in cases()})


def complaint(source: str) -> str:
    """What the reference compiler has against a shader, or ""."""
    command = [VALIDATOR or "", "--stdin", "-S", "comp"]
    done = subprocess.run(command, input=source, text=True, capture_output=True)
    return done.stdout + done.stderr if done.returncode else ""


@pytest.mark.skipif(not (VALIDATOR or os.environ.get("CI")), reason="no glslangValidator")
@pytest.mark.parametrize("features", ["", "es"])
@pytest.mark.parametrize("op", OPS)
def test_glsl_is_valid(op: str, features: str) -> None:
    wrong = []
    found = [case for case in cases() if case.op == op and not lack(case, "opengl")]
    # tests/ops has all of OpenGL's judged by Mesa.
    for case in found if NIGHTLY else found[::12]:
        artifact = generate(
            case.module, Target("opengl", case.block, features=features_named(features)), EXACT
        )
        if said := complaint(artifact.code.decode()):
            wrong.append(f"{case}: {said}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("target", ["webgpu", "opengl"])
def test_the_block_shape_is_asked_for(target: str) -> None:
    case = next(case for case in cases() if case.op == "barrier")
    with pytest.raises(TargetError, match="block shape"):
        generate(case.module, Target(target))


def rounded(x):
    x[0] = round(x[0], 1)


@pytest.mark.parametrize("target", ["webgpu", "opengl", "metal"])
def test_rounding_to_digits_needs_no_range_of_float64(target: str) -> None:
    """It is computed in float64, here in pairs of float32."""
    module = translate(rounded, (float32[::1],), KernelOptions())
    assert generate(module, Target(target, (1, 1, 1)), KernelOptions()).code


HIDDEN = {
    "%z: f32 = sub %x, %x": r"\| zero",
    "%c: b1 = lt %x, %y %z: f32 = select %c, %x, %y": r"\^ zero",
    "%c: b1 = lt %x, %y %n: b1 = not %c %z: f32 = select %n, %x, %y": r"\^ zero\) == 0u",
    "%i: f32 = const inf %z: f32 = min %x, %i": r"\^ zero",
}


@pytest.mark.parametrize("target", ["webgpu", "opengl"])
@pytest.mark.parametrize("body", HIDDEN)
def test_what_compilers_without_nan_would_fold_is_hidden(body: str, target: str) -> None:
    """Software devices keep NaN mostly, so the text is looked at."""
    params = "%p: ptr<f32, global>, %x: f32 [argument=1], %y: f32 [argument=2]"
    module = parse_module(f"kernel @k({params}) {{ {body} store %p, %z }}")
    text = generate(module, Target(target, (32, 1, 1), "", "rounds")).code.decode()
    assert re.search(HIDDEN[body], text)
