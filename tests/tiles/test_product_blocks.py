"""The tiles of the library's products on processors."""

from __future__ import annotations

import pytest

from gridlane.backends import backend
from gridlane.tiles.kernels import blocks


def test_tiles_of_processors_reach_little_beyond_the_product(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(blocks, "record", lambda: backend("cpu"))
    monkeypatch.setattr(blocks, "multiprocessors", lambda: 2)
    sides = {(1024, 1024): 256, (380, 2048): 128, (300, 300): 64, (40, 40): 64}
    for (m, n), side in sides.items():
        assert blocks.product_blocks(m, n, 512, "float32")[:2] == (side, side)
    assert blocks.product_blocks(1, 4096, 512, "int8")[:3] == (1, 256, 128)
    monkeypatch.setattr(blocks, "multiprocessors", lambda: 16)
    assert blocks.product_blocks(1024, 1024, 512, "float32").m == 128
