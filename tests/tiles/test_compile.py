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
