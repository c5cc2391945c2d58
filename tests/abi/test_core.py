"""NVIDIA's cuda.core on libcuda.so.1."""

import os
import subprocess
import sys

import pytest
from tests.abi.test_library import library  # noqa: F401  # the fixture


def test_calls_after_the_end_of_python(library):  # noqa: F811
    """cuda.core's destructors release contexts when Python has ended."""
    pytest.importorskip("cuda.core", reason="cuda-core is not installed")
    found = subprocess.run(
        [sys.executable, "-c", "from cuda.core import Device; Device().set_current()"],
        env=os.environ | {"LD_LIBRARY_PATH": str(library)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.returncode == 0, (found.returncode, found.stderr)


BUILDER = '''
import ctypes
from cuda.core import Device, LaunchConfig, ObjectCode, launch
from cuda.core.graph import GraphBuilder

TEXT = b""".version 8.0
.target sm_80
.address_size 64
.visible .entry add_one(.param .u64 x) {
    .reg .b32 %r<3>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [x];
    ld.global.u32 %r1, [%rd1];
    add.u32 %r2, %r1, 1;
    st.global.u32 [%rd1], %r2;
    ret;
}
"""
device = Device()
device.set_current()
stream = device.create_stream()
kernel, one = ObjectCode.from_ptx(TEXT).get_kernel("add_one"), LaunchConfig(grid=1, block=1)
memory = device.allocate(64, stream=stream)
memory.fill(0, stream=stream)
x = int(memory.handle)
builder = stream.create_graph_builder().begin_building()
launch(builder, one, kernel, x)
left, right = builder.split(2)
launch(left, one, kernel, x)
launch(right, one, kernel, x + 4)
builder = GraphBuilder.join(left, right)
launch(builder, one, kernel, x)
graph = builder.end_building().complete()
graph.launch(stream)
graph.launch(stream)
stream.sync()
print(list((ctypes.c_uint32 * 3).from_address(x)))
memory.close(stream)
'''


def test_a_graph_of_streams_that_split_and_join(library):  # noqa: F811
    """cuda.core ends the streams that joined before the capture ends."""
    pytest.importorskip("cuda.core.graph", reason="cuda-core has no graphs")
    found = subprocess.run(
        [sys.executable, "-c", BUILDER],
        env=os.environ | {"LD_LIBRARY_PATH": str(library), "GRIDLANE_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (found.returncode, found.stdout) == (0, "[6, 2, 0]\n"), found.stderr
