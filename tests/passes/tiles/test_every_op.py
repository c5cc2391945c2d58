"""Every op on tiles is lowered, and what does not fit is refused."""

from __future__ import annotations

import numpy as np
import pytest
from tests.passes.tiles.programs import Program, run

from gridlane.backends import backends
from gridlane.core.dtypes import f32
from gridlane.core.errors import TargetError
from gridlane.ir.families import TILES
from gridlane.ir.ops import tiles
from gridlane.passes.tiles import elements, lower


def test_each_op_has_its_lowering() -> None:
    computed = {op.name for op in (*elements.RULES, *lower.RULES)}
    assert TILES <= computed


def test_each_target_lowers_first() -> None:
    for record in backends():
        if not record.executes_ir:
            assert record.pipeline[0].path.endswith("lower_tiles"), record.name


def test_too_much_shared_memory_is_refused() -> None:
    p = Program(f32)
    at = p.numbers((256, 256))
    p.store(0, at, p.scan(lambda b, x, y: b.add(x, y), 0, p.load(0, at)))
    with pytest.raises(TargetError, match=r"Required: 262144, Hardware limit: 32768\. Reducing"):
        run(p, "vulkan", [np.zeros(65536, np.float32)])


def test_large_tiles_on_the_cpu() -> None:
    p = Program(f32)
    at = p.numbers((256, 256))
    turned = p.emit(tiles.TileTranspose(p.load(0, at), (1, 0)))
    v = p.var(turned.type, turned)
    p.store(0, at, p.add(p.emit(tiles.TileTranspose(p.b.read(v), (1, 0))), p.b.read(v)))
    data = np.random.default_rng(0).standard_normal((256, 256)).astype(np.float32)
    got = run(p, "cpu", [data.ravel()])
    np.testing.assert_array_equal(got[0].reshape(256, 256), data + data.T)
