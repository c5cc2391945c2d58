"""Random programs in Triton's language: each device leaves in memory what the interpreter does."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.tiles.random_text import SIZE, Writer

import gridlane

SEEDS = range(12)


def loaded(folder: Path, seed: int):
    """The program of a seed, from a file as programs come."""
    file = folder / f"program{seed}.py"
    file.write_text(Writer(seed).text())
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program


def results(program, device: str, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(-99, 99, SIZE, dtype=np.int32) for _ in range(2))
    z = x if seed % 3 == 0 else y[::-1].copy()  # at times one array has two names
    out = np.zeros(6 * 128, np.int32)
    with gridlane.device(device):
        program[(1,)](x, y, z, out, (5, 33, 64)[seed % 3], seed % 4, num_warps=(1, 2, 8)[seed % 3])
    return [x, y, z, out]


@pytest.mark.parametrize("device", DEVICES)
def test_random_programs(device, tmp_path):
    # Devices of shaders compile for longer.
    for seed in SEEDS if device == "cpu" else SEEDS[:3]:
        program = loaded(tmp_path, seed)
        expected, found = results(program, "interp", seed), results(program, device, seed)
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(one, other, f"seed {seed}")
