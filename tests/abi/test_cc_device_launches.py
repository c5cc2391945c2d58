"""Kernels that launch kernels, in whole programs by ``gridlane cc``."""

from __future__ import annotations

from pathlib import Path

from tests.abi.test_cc import cc, prefix, pytestmark, run  # noqa: F401

HERE = Path(__file__).parent / "programs"


def test_launches_from_kernels(cc):  # noqa: F811
    cc("-rdc=true", HERE / "device_launches.cu", "-o", "program", "-lcudadevrt")
    found = run("./program")
    assert (found.returncode, found.stdout) == (0, "cudaSuccess no error\n10 11 12 13 20 0\n"), (
        found
    )
