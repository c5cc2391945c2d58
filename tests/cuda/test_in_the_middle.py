"""A signal handler launches in the middle of a first launch, which loads modules and opens the
device: it works, or it is refused in words."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests import on_shaders, on_vulkan

PROGRAM = """
import faulthandler, signal, sys, threading
faulthandler.dump_traceback_later(60, exit=True)
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
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True {'DeviceError 800'} ['works', 'works']\n"
