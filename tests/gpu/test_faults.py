"""What a fault in a kernel says; each is the end of its process's context."""

from __future__ import annotations

from tests.gpu import programs

ILLEGAL = """
import numpy as np
from gridlane import cuda
from gridlane.core.errors import DeviceError

@cuda.jit({options})
def far(x, distance):
    i = cuda.grid(1)
    if i == 70:
        x[i + distance] = 1.0  # here

@cuda.jit
def fine(x):
    x[0] = 1.0

x = cuda.to_device(np.zeros(100))
fine[1, 1](x)
cuda.synchronize()
try:
    far[1, 128](x, 1 << 34)
    cuda.synchronize()
except (DeviceError, IndexError) as error:
    print(type(error).__name__, error)
else:
    raise AssertionError("nothing was raised")
"""


def test_an_illegal_address_names_the_kernel(tmp_path):
    said = programs.run(tmp_path, ILLEGAL.format(options=""))
    assert "CUDA_ERROR_ILLEGAL_ADDRESS (700)" in said
    assert "in kernel far" in said and "fine" not in said


def test_in_debug_mode_the_index_and_the_line_are_named(tmp_path):
    said = programs.run(tmp_path, ILLEGAL.format(options="debug=True, opt=False"))
    line = ILLEGAL.splitlines().index("        x[i + distance] = 1.0  # here") + 1
    assert "IndexError" in said and f"line {line}" in said


def test_every_call_after_a_fault_says_so(tmp_path):
    said = programs.run(
        tmp_path,
        ILLEGAL.format(options="")
        + """
for again in (lambda: cuda.to_device(np.zeros(3)), lambda: fine[1, 1](x), cuda.synchronize):
    try:
        again()
    except DeviceError as error:
        assert error.number == 700, error
    else:
        raise AssertionError("went on")
try:
    cuda.close()
    y = cuda.to_device(np.ones(3))
    print("a new context:", y.copy_to_host().sum())
except DeviceError as error:
    print("none:", error)
""",
    )
    last = said.strip().splitlines()
    assert any("a new context: 3.0" in line or "none:" in line for line in last)
