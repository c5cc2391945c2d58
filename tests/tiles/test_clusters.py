"""Launches of tile programs in clusters: options, grids, and what code requires of a launch."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from tests.passes.tiles.test_producers import Described
from tests.passes.tiles.test_producers import program as tile_module

from gridlane.compiler import cuda as compiler
from gridlane.compiler.cache_codec import from_json, to_json
from gridlane.core.options import KernelOptions, Target
from gridlane.frontends.triton import language as tl
from gridlane.tiles import descriptors, errors, jit
from gridlane.tiles.programs import Program
from gridlane.tiles.signatures import program_of

SHAPES = (64, 32), (32, 64), (64, 64)
"""Of blocks."""


@jit
def tiles(a, b, c, depth, M: tl.constexpr, K: tl.constexpr):
    i, j = tl.program_id(0) * M, tl.program_id(1) * M
    total = tl.zeros((M, M), tl.float32)
    for at in range(0, depth, K):
        total = tl.dot(a.load([i, at]), b.load([at, j]), total)
    c.store([i, j], total)


def arguments(rows: int = 192) -> tuple[list[object], np.ndarray]:
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-4, 5, each).astype(np.float16) for each in ((rows, 64), (64, 64)))
    c = np.zeros((rows, 64), np.float32)
    blocks = zip((a, b, c), SHAPES, strict=True)
    made = [descriptors.TensorDescriptor.from_tensor(array, list(block)) for array, block in blocks]
    return [*made, 64, 64, 32], a.astype(int) @ b.astype(int)


@pytest.mark.parametrize("rows", [128, 192])
@pytest.mark.parametrize("dims", [(2, 1, 1), [2, 1, 1], (1, 1, 1), (1, 2, 1)])
def test_results_are_those_without(rows, dims):
    args, want = arguments(rows)
    for _ in range(2):
        args[2].base[:] = 0
        tiles[(rows // 64, 1)](*args, cluster_dims=dims)
        np.testing.assert_array_equal(args[2].base, want)


@pytest.mark.parametrize("dims", [(2, 1), 2, (0, 1, 1), (2.0, 1, 1), (16, 1, 1), ("2", 1, 1)])
def test_bad_options(dims):
    args, _ = arguments()
    with pytest.raises(errors.WrongOption, match="cluster_dims must be three numbers"):
        tiles[(3, 1)](*args, cluster_dims=dims)


def program(dims: str) -> Program:
    blocks = "tensordesc<fp16[64,32]>,tensordesc<fp16[32,64]>,tensordesc<fp32[64,64]>"
    return program_of(tiles, f"{blocks},i32,M=64,K=32,cluster_dims={dims}")


def test_code_requires_its_clusters():
    """The key of a program has them; the artifact is read back as it was written."""
    one, two = program("(1,1,1)"), program("(2,1,1)")
    assert one.source.key() != two.source.key()
    target = Target("cuda", processor="sm_90a")
    for each, size in ((one, 1), (two, 2)):
        assert each.kernel.module.program_cluster == size
        boxes = [Described(np.zeros((128, 64), np.float16), shape) for shape in SHAPES]
        module = tile_module(tiles, [*boxes, 64], 4, 3, size, M=64, K=32)
        artifact = compiler.generate(module, target, KernelOptions())
        assert artifact.cluster == (size, 1, 1) and artifact.requires_cluster == (size > 1)
        assert (b".reqnctapercluster" in artifact.code) == (size > 1)
        assert from_json(to_json(artifact), artifact.code) == artifact


def test_other_grids_are_launched_without(monkeypatch):
    """The code for clusters is not launched over a grid that does not consist of them."""
    launches: list[int] = []
    own = Program.launch_for

    def launch_for(self, device, forms):
        known = own(self, device, forms)
        launches.append(self.options.cluster)
        if self.options.cluster == 1:
            return known
        artifact = replace(known.plan.kernel.artifact, cluster=(2, 1, 1))
        return known._replace(plan=SimpleNamespace(kernel=SimpleNamespace(artifact=artifact)))

    monkeypatch.setattr(Program, "launch_for", launch_for)
    args, want = arguments()
    fresh = jit(tiles.fn)
    fresh[(3, 1)](*args, cluster_dims=(2, 1, 1))
    np.testing.assert_array_equal(args[2].base, want)
    assert launches == [2, 1]
    assert "no multiple of 2 were without clusters" in fresh.explain()
