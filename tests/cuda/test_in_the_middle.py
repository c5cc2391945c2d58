"""A signal handler launches in the middle of a first launch, which loads modules and opens the
device, and in the middle of any work: it works, or it is refused in words."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests import on_shaders, on_vulkan

PROGRAM = """
import faulthandler, signal, sys, threading
faulthandler.dump_traceback_later(240, exit=True)
import numpy as np
from gridlane import cuda

@cuda.jit
def step(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1

@cuda.jit
def other(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 2

told, handling = [], False

def handler(number, frame):
    global handling
    if handling:
        return
    handling = True
    try:
        for kernel, wanted in ((other, 2), (step, 1)):
            mine = np.zeros(8, np.int32)
            kernel[1, 8](mine)
            told.append("works" if (mine == wanted).all() else "wrong")
    except BaseException as error:
        told.append(f"{type(error).__name__} {getattr(error, 'number', error)}")
    handling = False

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if threading.current_thread() is threading.main_thread():
            signal.raise_signal(signal.SIGALRM)
        return None

signal.signal(signal.SIGALRM, handler)
sys.meta_path.insert(0, Interrupting())
x = np.zeros(8, np.int32)
step[1, 8](x)
assert (x == 1).all()
sys.meta_path.pop(0)
before, told = told, []
handler(0, None)
print(len(before) > 5, set(before) - {"works"}, told)
"""


@pytest.mark.parametrize("kind", ["cpu", *on_vulkan.found(), *on_shaders.found()])
def test_a_handler_in_a_first_launch(kind, tmp_path):
    # In a process of its own, as those of the server have imported the compiler.
    environment = {**os.environ, "GRIDLANE_DEVICE": kind, "GRIDLANE_CACHE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True {'DeviceError 800'} ['works', 'works']\n"


EVERYWHERE = """
import faulthandler, signal, sys
faulthandler.dump_traceback_later(240, exit=True)
import numpy as np
from gridlane import cuda
from gridlane.core.errors import DeviceError

@cuda.jit
def step(x, n):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = x[i] * 3 + n

STEP = int(sys.argv[1])
start = np.arange(64, dtype=np.int32)
called, told = [], []

def use():
    stream = cuda.stream()
    x = cuda.to_device(start, stream=stream)
    stream.add_callback(lambda *_: called.append(1))
    step[2, 32, stream](x, 5)
    event = cuda.event()
    event.record(stream)
    event.synchronize()
    found = x.copy_to_host(stream=stream)
    stream.synchronize()
    assert (found == start * 3 + 5).all(), found
    found = start.copy()
    step[2, 32](found, 5)
    assert (found == start * 3 + 5).all(), found

class Interrupt:
    # At a line of gridlane's. A map of addresses counts on that signals come behind calls alone.
    def __init__(self, lines):
        self.left = lines

    def __call__(self, frame, event, argument):
        name = frame.f_code.co_filename
        if "gridlane" not in name or "emulation" in name or name.endswith("addresses.py"):
            return None
        if event == "line":
            self.left -= 1
            if not self.left:
                sys.settrace(None)
                signal.raise_signal(signal.SIGALRM)
        return self

def handler(number, frame):
    told.append("")
    try:
        use()
        told[-1] = "works"
    except DeviceError as error:
        told[-1] = error.name

use()
signal.signal(signal.SIGALRM, handler)
lines, uses = 1, 1
while True:
    before = len(told)
    sys.settrace(Interrupt(lines))
    use()
    sys.settrace(None)
    uses += 1
    if len(told) == before:
        break
    lines += STEP
print(lines > 100, len(called) >= uses, set(told) - {"works"})
"""


@pytest.mark.parametrize("kind", ["cpu", "interp", *on_vulkan.found(), *on_shaders.found()])
def test_a_handler_at_any_line(kind, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(EVERYWHERE)
    step = {"cpu": 7, "vulkan": 19, "opengl": 19}.get(kind, 41)
    done = subprocess.run(
        [sys.executable, str(program), str(step)],
        env={**os.environ, "GRIDLANE_DEVICE": kind},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    told = "set()" if kind == "cpu" else "{'CUDA_ERROR_NOT_PERMITTED'}"
    assert done.stdout == f"True True {told}\n"
