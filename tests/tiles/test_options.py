"""Options of launches: what they may be, and that a launch after another one has its own."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from gridlane import tiles
from gridlane.tiles import errors, knobs
from gridlane.tiles.compiling import ASTSource, compile
from gridlane.tiles.option_values import options_of

tl = tiles.language
ZERO = np.zeros(1, np.float32)


@tiles.jit
def product(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    place = i[:, None] * N + i[None, :]
    a = tl.load(x + place)
    total = tl.zeros((N, N), tl.float32)
    for step in range(3):
        total = tl.dot(a, a + step, total)
    tl.store(out + place, total)


WRONG = [
    ("num_warps", [0, 3, -4, True, 4.0, "4", [4]]),
    ("num_stages", [-1, 2.5, "2", [2], True]),
    ("num_ctas", [0, "2", []]),
    ("maxnreg", [0, -5, "64", 2.5]),
    ("debug", ["yes", 2, []]),
    ("enable_fp_fusion", ["no", 0.5, []]),
    ("cluster_dims", ["211", (2, 1), (2, 1, True), np.array([2, 1, 1])]),
]


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG for value in values]
)
def test_wrong_values(name, value):
    """Refused by name in front of the launch, each time."""
    for _ in range(2):
        with pytest.raises(errors.WrongOption, match=f"{name} must be"):
            product[(1,)](ZERO, ZERO, 16, **{name: value})
    with pytest.raises(errors.WrongOption, match=f"{name} must be"):
        compile(ASTSource(product, {"x": "*fp32", "out": "*fp32"}, {"N": 16}), None, {name: value})


def test_values_of_numpy_and_none():
    wanted = options_of({"debug": True}, {"num_warps": 8, "num_stages": 2})
    given = {"num_warps": np.int64(8), "num_stages": np.int32(2), "maxnreg": None, "debug": None}
    assert options_of({"debug": np.True_}, given) == wanted
    assert [*map(type, options_of({}, given))] == [*map(type, options_of({}, {}))]


def test_options_that_change():
    """Each launch has its own, after any others, and has the answer."""
    rng = random.Random(3)
    x = np.random.default_rng(3).integers(-4, 5, (16, 16)).astype(np.float32)
    want = sum(x @ (x + step) for step in range(3))
    choices = [*itertools.product((1, 4, 32), (1, 3), ((1, 1, 1), (2, 1, 1)), (True, False))]
    rng.shuffle(choices)
    with knobs.language.scope(), knobs.runtime.scope():
        for warps, stages, cluster, debug in choices * 2:
            out = np.zeros_like(x)
            knobs.language.default_fp_fusion = rng.random() < 0.5
            knobs.runtime.debug = rng.random() < 0.5
            options = {"num_warps": warps, "num_stages": stages, "cluster_dims": cluster}
            kernel = product[(rng.choice((1, 2, 3)),)](x, out, 16, debug=debug, **options)
            np.testing.assert_array_equal(out, want)
            asked = kernel.program.options
            assert (asked.num_warps, asked.num_stages, asked.debug) == (warps, stages, debug)
            assert asked.enable_fp_fusion == knobs.language.default_fp_fusion
            assert asked.cluster_dims == cluster
