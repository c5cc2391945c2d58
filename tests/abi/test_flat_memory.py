"""What is unloaded, destroyed and freed leaves nothing."""

import gc
import shutil
import weakref

import pytest
from tests.abi import installed
from tests.abi.calling import cu, good, in_python

from gridlane.abi.state import modules

TEXT = b""".version 8.0
.target sm_80
.visible .global .u32 g;
.visible .entry k() { .reg .b32 %r; ld.global.u32 %r, [g]; add.u32 %r, %r, 1;
  st.global.u32 [g], %r; ret; }
\0"""


@in_python
def test_modules_end_when_they_are_unloaded(context):
    """Nothing leads in a circle: a program that is not Python's may never collect garbage."""
    made = good(cu.cuModuleLoadData(TEXT))
    function = good(cu.cuModuleGetFunction(made, b"k"))
    good(cu.cuLaunchKernel(function, *(1,) * 6, 0, 0, 0, 0))
    good(cu.cuCtxSynchronize())
    found = modules.modules.get(int(made))
    ends = [weakref.ref(each) for each in (found.code, found.code.kernel("k"))]
    found = None
    gc.collect()
    gc.disable()
    try:
        good(cu.cuModuleUnload(made))
        assert [each() for each in ends] == [None, None]
    finally:
        gc.enable()


@pytest.mark.skipif(not shutil.which("cc"), reason="cc is not installed")
def test_a_program_in_c(tmp_path, tmp_path_factory):
    """A hundredth of what benchmarks/api/memory.py measures."""
    from benchmarks.api.memory import grown

    rows = grown(tmp_path, 100, installed.prefix(tmp_path_factory))
    assert [row[:2] for row in rows] == [("modules", 100), ("contexts", 10), ("calls", 10_000)]
    for name, _, tenth, _, end in rows:
        assert end - tenth < 2048, f"{name}: {end - tenth} KiB more"
