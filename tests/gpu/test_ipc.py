"""Memory of a GPU that two processes share, by the driver's handles."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import pickle, subprocess, sys
import numpy as np
from gridlane import cuda

@cuda.jit
def add(x, value):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += value

if len(sys.argv) > 1:
    handle = pickle.loads(bytes.fromhex(sys.argv[1]))
    with handle as array:
        print(array.copy_to_host().tolist())
        add[1, 64](array, 1)
        cuda.synchronize()
    sys.exit()
array = cuda.to_device(np.arange(20))
handle = array[4:8].get_ipc_handle()
command = [sys.executable, __file__, pickle.dumps(handle).hex()]
print(subprocess.run(command, capture_output=True, text=True, check=True).stdout, end="")
add[1, 64](array, 100)
print(array.copy_to_host().tolist()[2:9])
try:
    handle.open()
except ValueError as error:
    print(error)
"""


def _run(tmp_path, **settings):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = os.environ | {"GRIDLANE_DEVICE": "cuda"} | settings
    return subprocess.run(
        [sys.executable, str(program)], env=environment, capture_output=True, text=True
    )


def test_both_processes_see_writes(tmp_path):
    found = _run(tmp_path, GRIDLANE_CUDA_IPC="1")
    assert found.stdout.splitlines() == [
        "[4, 5, 6, 7]",
        "[102, 103, 105, 106, 107, 108, 108]",
        "opening IpcHandle from original process",
    ], found.stderr


def test_memory_of_the_pool_is_refused(tmp_path):
    found = _run(tmp_path)
    assert found.returncode and "set GRIDLANE_CUDA_IPC=1" in found.stderr, found.stderr
