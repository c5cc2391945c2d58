"""GRIDLANE_TIMEOUT: a launch that takes longer fails with its kernel and its line, on the devices
that can stop one; other devices are refused."""

import subprocess
import sys

import pytest

from gridlane.backends import backend, names
from gridlane.core.config import read
from gridlane.core.errors import DeviceError
from gridlane.launch import devices

PROGRAM = """
import threading
import numpy as np
from gridlane import cuda
from gridlane.core.device_errors import KernelTimeout

@cuda.jit
def by_memory(x):
    i = cuda.grid(1)
    n = 0
    while x[i] >= 0:  # here
        n += 1
        x[i] = n & 7  # here

@cuda.jit
def by_numbers(x, m):
    while m != 3:  # here
        m = m * 6 + 2 & 254  # here
    x[cuda.grid(1)] = m

@cuda.jit
def one_more(x):
    x[cuda.grid(1)] += 1

with open(__file__) as file:
    here = [n for n, line in enumerate(file, 1) if "# here" in line]
    here = {"by_memory": here[:2], "by_numbers": here[2:]}

def stopped(launch):
    try:
        launch()
    except KernelTimeout as error:
        assert error.number == 702 and error.name == "CUDA_ERROR_LAUNCH_TIMEOUT", error
        assert error.loc.line in here[error.kernel], (str(error), error.loc)
        assert f"{error.kernel} ran longer than GRIDLANE_TIMEOUT allows, 0.4 s" in str(error)
        return error.kernel
    raise SystemExit("it ended")

def waited(x):
    stream = cuda.stream()
    by_numbers[1, 64, stream](x, 1)
    stream.synchronize()

for blocks in (1, 16):
    x = cuda.to_device(np.zeros(64 * blocks, np.int32))
    one_more[blocks, 64](x)
    assert stopped(lambda: by_memory[blocks, 64](x)) == "by_memory"
    if blocks == 1:
        assert stopped(lambda: waited(x)) == "by_numbers"
    else:
        done = []
        launch = lambda: done.append(stopped(lambda: by_numbers[blocks, 64](x, 1)))
        thread = threading.Thread(target=launch)
        thread.start()
        thread.join()
        assert done == ["by_numbers"]
    x[:] = 4
    one_more[blocks, 64](x)
    assert (x.copy_to_host() == 5).all()
print("done")
"""


@pytest.mark.parametrize("device", [name for name in names() if backend(name).on_host])
def test_endless_kernels_are_stopped(device, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    words = [sys.executable, "-m", "gridlane", "run", "--device", device, "--timeout", "0.4"]
    done = subprocess.run([*words, str(script)], capture_output=True, text=True, timeout=300)
    assert done.stdout == "done\n", done.stderr


@pytest.mark.parametrize("kind", [name for name in names() if not backend(name).on_host])
def test_devices_that_cannot_stop_a_kernel_are_refused(kind, monkeypatch):
    monkeypatch.setattr(devices, "_opened", {})
    monkeypatch.setattr(devices, "config", lambda: read({"GRIDLANE_TIMEOUT": "5"}))
    with pytest.raises(DeviceError, match=f"GRIDLANE_TIMEOUT on the device {kind}, which cannot"):
        devices.get_device(kind)


def test_the_seconds_of_a_launch():
    assert read({}).timeout == 0 == read({"GRIDLANE_TIMEOUT": "0"}).timeout
    assert read({"GRIDLANE_TIMEOUT": "2.5"}).timeout == 2.5
    for text in ("-1", "a", "1e3", "inf"):
        with pytest.raises(ValueError, match=r"GRIDLANE_TIMEOUT=.*a number of seconds, or 0"):
            read({"GRIDLANE_TIMEOUT": text})


@pytest.mark.parametrize("command", ["run", "exec"])
def test_what_is_no_number_of_seconds_is_refused(command):
    words = [sys.executable, "-m", "gridlane", command, "--timeout", "soon", "program"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode and "--timeout needs a number of seconds" in done.stderr
