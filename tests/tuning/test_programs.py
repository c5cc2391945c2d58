"""``tiles.tune``: tile programs."""

from __future__ import annotations

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.tiles import programs

import gridlane
from gridlane import tiles
from gridlane.core.errors import ArgumentError
from gridlane.tiles.tuning import TunedProgram
from gridlane.tuning.errors import TuningError
from gridlane.tuning.results import State
from gridlane.tuning.spaces import Space

tl = tiles.language


def over(meta):
    return tiles.cdiv(meta["n"], meta["BLOCK"])


@pytest.mark.parametrize("name", DEVICES)
def test_tuned_launches(name):
    with gridlane.device(name):
        x = np.arange(1000, dtype=np.float32)
        out = np.zeros_like(x)
        space = {"BLOCK": [64, 256], "num_warps": [2, 4]}
        tuned = tiles.tune(programs.add, (x, x, out, 1000), space, grid=over, seconds=300)
        assert not out.any() and tuned.tuning.count == 4
        measured = 2 if name in ("cpu", "interp") else 4  # a host has no warps
        assert len(tuned.tuning.measured) == measured
        tuned(x, x, out, 1000)
        assert (out == 2 * x).all()
        near, got = x[:984].copy(), np.zeros(984, np.float32)
        tuned(near, near, got, 984)
        assert (got == 2 * near).all()
        with pytest.raises(ArgumentError, match="is tuned for"):
            tuned(x, x, out, 100)


@tiles.jit
def kinds(x, out, BLOCK: tl.constexpr, MODE: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.load(x + i)
    if MODE == 1:
        while tl.sum(total) > -1:
            total += tl.load(x + i)
    if MODE == 2:
        total += 1
    if MODE == 3:
        total = tl.no_such_name(total)
    if MODE != 4:
        tl.store(out + i, total)


@pytest.mark.parametrize("name", ["cpu", "interp"])
def test_bad_candidates(name):
    """One never ends, one is wrong, one does not compile, one stores nothing."""
    with gridlane.device(name):
        x = np.arange(64, dtype=np.float32)
        out = x.copy()
        tuned = tiles.tune(
            kinds, (x, out), {"MODE": range(5)}, grid=1, keywords={"BLOCK": 64}, seconds=300
        )
        states = {each.candidate.named["MODE"]: each.state for each in tuned.tuning.trials}
        assert states == {
            0: State.MEASURED, 1: State.STOPPED, 2: State.WRONG, 3: State.FAILED, 4: State.WRONG,
        }  # fmt: skip
        assert (out == x).all()


def test_wrong_arguments():
    x = np.zeros(64, np.float32)
    for program, space, options, message in (
        (
            programs.add,
            {"BLOCKS": [1]},
            {},
            r"'BLOCKS' is no parameter of add\(x, y, out, n, BLOCK",
        ),
        (programs.add, {"BLOCK": [64]}, {"keywords": {"BLOCK": 1}}, "'BLOCK' is given"),
        (programs.add, {"BLOCK": [64]}, {"seconds": 0}, "seconds=0"),
        (programs.add.fn, {"BLOCK": [64]}, {}, "a program of tiles.jit is tuned"),
    ):
        with pytest.raises(TuningError, match=message):
            tiles.tune(program, (x, x, x, 64), space, **{"grid": 1, **options})
    with pytest.raises(tiles.CompilationError, match="no_such_name"):
        tiles.tune(kinds, (x, x), {"MODE": [3, 0]}, grid=1, keywords={"BLOCK": 64})


def test_estimates():
    """Tiles that matrix instructions fill cost less, and so do fewer programs of larger tiles."""

    def estimate(dtype, **values):
        a = np.zeros((256, 256), dtype)
        out = np.zeros((256, 256), np.float32)
        space = Space({name: [value] for name, value in values.items()})
        grid = 256 // values["M"], 256 // values["N"]
        made = TunedProgram(programs.product, space, grid, {})
        return made.subject((a, a, out, 256, 256, 256)).estimate(space.plain)

    f32, f16 = np.float32, np.float16
    assert estimate(f16, M=32, N=32, K=16) < estimate(f32, M=32, N=32, K=16)
    assert estimate(f16, M=64, N=64, K=16) < estimate(f16, M=16, N=16, K=16)
    assert estimate(f16, M=32, N=32, K=16) < estimate(f16, M=32, N=32, K=4)


def test_sources():
    def source(program, **keywords):
        x = np.zeros(64, np.float32)
        made = TunedProgram(program, Space({"MODE": [0]}), 1, keywords)
        return made.subject((x, x)).source

    one = source(kinds, BLOCK=64)
    assert one and one == source(tiles.jit(kinds.fn), BLOCK=64)
    assert one != source(kinds, BLOCK=32) and one != source(kinds, BLOCK=64, num_warps=2)
