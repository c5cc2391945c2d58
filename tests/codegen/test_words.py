"""The GLSL of every op is accepted by Khronos' reference compiler, for OpenGL and for OpenGL ES.

That it computes what the interpreter does, and WGSL as well, tests/ops tests on the drivers.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.effort import NIGHTLY

from gridlane.compiler import generate, translate
from gridlane.conformance.module_runner import EXACT
from gridlane.conformance.suite import cases, lack
from gridlane.core.argtypes import float32
from gridlane.core.errors import TargetError
from gridlane.core.features import features as features_named
from gridlane.core.options import KernelOptions, Target
from gridlane.ir.parser import parse_module

VALIDATOR = shutil.which("glslangValidator")
OPS = sorted({case.op for case in cases()})


def complaints(sources: dict[str, bytes], folder: Path) -> str:
    """What the reference compiler has against shaders, or "". It says the name of each file."""
    for name, source in sources.items():
        (folder / f"{name}.comp").write_bytes(source)
    command = [VALIDATOR or "", *(f"{name}.comp" for name in sources)]
    done = subprocess.run(command, text=True, capture_output=True, cwd=folder, timeout=100)
    return done.stdout + done.stderr + f"exit {done.returncode}" if done.returncode else ""


@pytest.mark.skipif(not (VALIDATOR or os.environ.get("CI")), reason="no glslangValidator")
@pytest.mark.parametrize("features", ["", "es"])
@pytest.mark.parametrize("part", range(4))
def test_glsl_is_valid(part: int, features: str, tmp_path: Path) -> None:
    made = {}
    for op in OPS[part::4]:
        found = [case for case in cases() if case.op == op and not lack(case, "opengl")]
        # tests/ops has all of OpenGL's judged by Mesa.
        for case in found if NIGHTLY else found[::12]:
            target = Target("opengl", case.block, features=features_named(features))
            made[str(case)] = generate(case.module, target, EXACT).code
    assert len(made) > 30
    assert not complaints(made, tmp_path)


@pytest.mark.skipif(not (VALIDATOR or os.environ.get("CI")), reason="no glslangValidator")
def test_invalid_glsl_is_noticed(tmp_path: Path) -> None:
    right = b"#version 430\nlayout(local_size_x = 1) in;\nvoid main() {}\n"
    assert not complaints({"right": right}, tmp_path)
    assert "wrong.comp" in complaints({"right": right, "wrong": right + b"int x"}, tmp_path)


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


def test_the_negative_zero_of_wgsl_is_no_literal() -> None:
    """Tint folds -0.0f to 0.0, so it is read from a variable."""
    text = "kernel @k(%p: ptr<f32, global>) { %z: f32 = const -0x0.0p+0 store %p, %z }"
    code = generate(parse_module(text), Target("webgpu", (32, 1, 1))).code.decode()
    assert "u32 = 0x80000000u;" in code and "-0" not in code
