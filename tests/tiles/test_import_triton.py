"""Programs that import Triton, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.devices import DEVICES

PROGRAM = """
import numpy as np
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.runtime import driver
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.autotune([triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def powers(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, libdevice.pow(x, 2.0) + tl.math.exp(x) + libdevice.asin(x), mask=i < n)

x = np.linspace(0, 1, 99).astype(np.float32)
out = np.zeros_like(x)
powers[lambda meta: (triton.cdiv(99, meta["BLOCK"]),)](x, out, 99)
np.testing.assert_allclose(out, x * x + np.exp(x) + np.arcsin(x), rtol=1e-5)
assert driver.active.get_current_target().backend == "cpu"
assert driver.active.utils.get_device_properties(0)["multiprocessor_count"] >= 1
assert driver.active.utils.get_device_properties(None)["warpSize"] == 32
driver.set_active_to_cpu()
assert driver.get_active_gpus() == []
assert triton.testing.do_bench(lambda: powers[(4,)](x, out, 99), warmup=1, rep=2) > 0
"""

CHILD = """
import subprocess, sys
TEXT = "import triton; assert triton.jit.__module__.startswith('gridlane')"
subprocess.run([sys.executable, "-c", TEXT], check=True)
try:
    import triton.compiler.make_launcher
except ModuleNotFoundError as error:
    assert "gridlane has no triton.compiler.make_launcher" in str(error)
"""

DRIVER = """
from triton.runtime.driver import driver
import triton.runtime.driver as again
import triton
assert driver.active is again.active is triton.runtime.driver.active
"""

LOADED = """
import importlib.util
import sys
import triton

for name in ("triton.language.extra.libdevice", "triton.language.math", "triton.testing"):
    spec = importlib.util.find_spec(name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    known = sys.modules[name]
    for each in ("pow", "rsqrt", "do_bench"):
        assert getattr(module, each, None) is getattr(known, each, None)
    assert dir(module) == dir(known) and not hasattr(module, "neither")
    assert module is not known
import numba.cuda
spec = importlib.util.find_spec("numba.cuda.random")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
assert module.xoroshiro128p_next
"""
TEXTS = {"program": PROGRAM, "children": CHILD, "driver": DRIVER, "loaded": LOADED}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_gridlane_run(tmp_path, text):
    file = tmp_path / "program.py"
    file.write_text(text)
    subprocess.run([sys.executable, "-m", "gridlane", "run", str(file)], check=True, timeout=120)


def test_in_code(tmp_path):
    file = tmp_path / "program.py"
    text = "from gridlane import tiles\ntiles.install_as_triton()\ntiles.install_as_triton()\n"
    file.write_text(text + PROGRAM)
    subprocess.run([sys.executable, str(file)], check=True, timeout=120)


TARGET = """
import sys
from triton.runtime import driver
target = driver.active.get_current_target()
assert (target.backend, target.arch) == (sys.argv[1], sys.argv[2]), target
"""


@pytest.mark.parametrize(
    ("device", "backend"), [("interp", ""), ("vulkan", ""), ("interp", "cuda")]
)
def test_the_backend_is_that_of_the_tensors(tmp_path, device, backend):
    if device != "interp" and device not in DEVICES:
        pytest.skip(f"no {device} here")
    file = tmp_path / "program.py"
    file.write_text(TARGET)
    environment = {**os.environ, "GRIDLANE_DEVICE": device, "GRIDLANE_TRITON_BACKEND": backend}
    command = [sys.executable, "-m", "gridlane", "run", str(file), backend or "cpu", device]
    subprocess.run(command, check=True, timeout=120, env=environment)
