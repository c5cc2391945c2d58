"""Compilation of tile programs by the types of their arguments (``triton.compile``)."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tiles import programs

import gridlane
from gridlane import tiles
from gridlane.core.errors import ArgumentError
from gridlane.tiles.compiling import ASTSource, compile
from gridlane.tiles.driver import GPUTarget

TYPES = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}


@pytest.mark.parametrize("constants", [{"BLOCK": 32}, {(4,): 32}], ids=["by name", "by place"])
@pytest.mark.parametrize("device", ["interp", "cpu"])
def test_compile(device, constants):
    with gridlane.device(device):
        kernel = compile(ASTSource(programs.add, TYPES, constants))
        assert "tile<32, f32>" in kernel.asm["ttir"]
        x, out = np.arange(50, dtype=np.float32), np.zeros(50, np.float32)
        kernel[(2,)](x, x, out, 50, 32)
        assert (out == 2 * x).all()


def test_errors():
    with pytest.raises(ArgumentError, match="no type of n is given"):
        compile(ASTSource(programs.add, TYPES | {"n": None}, {"BLOCK": 32}))
    with pytest.raises(tiles.CompilationError):
        compile(ASTSource(programs.add, TYPES, {"BLOCK": 33}))
    with pytest.raises(NotImplementedError, match="the target is the current device"):
        compile(ASTSource(programs.add, TYPES, {"BLOCK": 32}), target=GPUTarget("cuda", 90, 32))
    with pytest.raises(NotImplementedError, match="takes an ASTSource"):
        compile("kernel.ttir")


def test_names_that_other_packages_import():
    from gridlane.frontends.triton.language import core, standard
    from gridlane.tiles.autotuning import Autotuner
    from gridlane.tiles.compiling import triton_key

    assert core.CONSTEXPR_0.value == 0
    assert standard._log2(64) == 6
    assert standard._is_power_of_two(12) is False
    assert triton_key() == triton_key() != ""
    tuner = Autotuner(programs.add, ["x"], [], [], pre_hook=print)
    assert tuner.user_defined_pre_hook
    assert not tuner.user_defined_post_hook
