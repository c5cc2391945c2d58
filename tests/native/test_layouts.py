"""What Python, compiled kernels and the pool state of the same memory is the same."""

import subprocess

from tests.native.building import HERE, built

from gridlane.core import cpu_abi
from gridlane.runtime.drivers import cpu_batch, cpu_native

HELD = {
    "PLAN_BYTES": 64,
    "LAUNCH_BYTES": cpu_batch._LAUNCH.itemsize,
    "PYTHON": len(cpu_native._PYTHON),
    **{f"GRID_{axis}": at for axis, at in zip("XYZ", cpu_abi.GRID_OFFSETS, strict=True)},
}


def test_layouts_are_the_same(tmp_path):
    program = built(HERE / "layouts.c", tmp_path / "layouts")
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    stated = {name: int(number) for name, number in map(str.split, done.stdout.splitlines())}
    named = {name for name in vars(cpu_abi) if name.isupper()} - {"GRID_OFFSETS"}
    assert stated == HELD | {name: getattr(cpu_abi, name) for name in named}
