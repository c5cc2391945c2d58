"""What Python, compiled kernels and the pool state of the same memory is the same."""

import ctypes
import subprocess

import pytest
from tests.native.building import HERE, built

from gridlane.abi.library import hot
from gridlane.core import cpu_abi
from gridlane.core.errors import CompileError
from gridlane.native import INTERFACE, compiled
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


@pytest.mark.parametrize("number", [0, INTERFACE - 1, INTERFACE + 1])
def test_a_compiled_module_of_other_sources_is_refused(monkeypatch, number):
    module = compiled()
    if module is None:
        pytest.skip("there is no compiled module")
    monkeypatch.setattr(module, "INTERFACE", number)
    with pytest.raises(CompileError, match=r"(?s)pip install -e \..*gridlane install --force"):
        compiled()


def test_a_library_with_records_of_other_sizes_is_refused():
    own = hot.native.sizes()
    assert all(own) and len(own) == 8
    for place in range(len(own)):
        sizes = (ctypes.c_uint32 * len(own))(*own)
        hot._check_sizes(ctypes.addressof(sizes))
        sizes[place] += 8
        with pytest.raises(CompileError, match=r"(?s)pip install -e \..*gridlane install --force"):
            hot._check_sizes(ctypes.addressof(sizes))
