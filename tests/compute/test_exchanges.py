# ruff: noqa: F821  # extents are names that annotations define
"""Sorts by exchanges of neighbours: one launch of one thread, as every step depends on the last."""

import math

import numpy as np
import pytest

import gridlane
from gridlane.compute import Tensor, compute, f32, i32
from gridlane.runtime.drivers.interp import InterpKernel

RNG = np.random.default_rng(3)


@compute
def by_tuples(a: Tensor[f32, "N"]):
    for i in range(N):
        for j in range(N - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]


@compute(kernel="sort")
def by_a_variable(a: Tensor[i32, "N"]):
    for i in range(N):
        for j in range(N - 1):
            if j < N - 1 - i:
                if a[j] > a[j + 1]:
                    t = a[j]
                    a[j] = a[j + 1]
                    a[j + 1] = t


@pytest.mark.parametrize("sort", [by_tuples, by_a_variable])
@pytest.mark.parametrize("device", ["cpu", "interp"])
def test_one_launch_of_one_thread(sort, device, monkeypatch):
    grids, launch = [], InterpKernel.launch

    def noted(self, params, gx, gy, gz, shared):
        grids.append((gx, gy, gz, self.artifact.block))
        launch(self, params, gx, gy, gz, shared)

    monkeypatch.setattr(InterpKernel, "launch", noted)
    kind = np.int32 if sort is by_a_variable else np.float32
    with gridlane.device(device):
        for count in (1, 2, 5, 24):
            a = RNG.integers(0, 50, count).astype(kind)
            wanted = np.sort(a)
            sort(a)
            assert a.tolist() == wanted.tolist()
        text = sort.explain(a)
    host = text[text.index("def host(") :].split("\n\n")[0]
    assert host.splitlines()[1:] == ["    launch(0, (), (a, N, ))"]
    if device == "interp":
        assert len(grids) == 4 and {math.prod((x, y, z, *b)) for x, y, z, b in grids} == {1}, grids
