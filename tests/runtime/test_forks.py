"""Forks and other processes: a child has a device that works, or an error that says why not."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PRELUDE = """
import faulthandler, multiprocessing, os, sys, threading, time
import numpy as np
from gridlane import cuda
from gridlane.core.errors import DeviceError

@cuda.jit
def increment(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1

def works():
    x = np.zeros(8192, np.int32)
    increment[32, 256](x)
    stream = cuda.stream()
    increment[32, 256, stream](x)
    stream.synchronize()
    return bool((x == 2).all())

def child_says(run):
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if run() else 1
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0

if __name__ == "__main__":
    faulthandler.dump_traceback_later(60, exit=True)
"""

BUSY_STREAM = """
    assert works()
    stream, gate, event = cuda.stream(), threading.Event(), cuda.event()
    y = cuda.to_device(np.zeros(4, np.int32))
    stream.add_callback(lambda *a: gate.wait())
    increment[1, 32, stream](y)
    event.record(stream)

    def child():
        event.synchronize()
        try:
            stream.synchronize()
        except DeviceError as error:
            said = "forked" in str(error) and "spawn" in str(error)
        increment[1, 32, stream](y)
        stream.synchronize()
        return said and works() and (y.copy_to_host() == 1).all()

    assert child_says(child)
    assert not stream.query()
    gate.set()
    stream.synchronize()
    assert (y.copy_to_host() == 1).all() and works()
"""

THREADS = """
    going = True

    def launch():
        while going:
            assert works()

    def compiles():
        while going:
            # a function of its own each time
            exec("@cuda.jit\\ndef k(x):\\n    x[0] = x[0] * 2 + 1", {"cuda": cuda}, found := {})
            found["k"][1, 1](np.zeros(1))

    threads = [threading.Thread(target=run, daemon=True) for run in (launch, launch, compiles)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        assert child_says(works)
    going = False
    for thread in threads:
        thread.join()
    assert works()
"""

PROCESSES = """
    assert works()
    for method in "fork", "spawn":
        with multiprocessing.get_context(method).Pool(1) as pool:
            assert pool.starmap(works, [()] * 2) == [True] * 2
"""

PROGRAMS = {"a busy stream": BUSY_STREAM, "threads": THREADS, "processes": PROCESSES}


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_forks(tmp_path, device, program):
    path = tmp_path / "program.py"
    path.write_text(PRELUDE + PROGRAMS[program])
    done = subprocess.run(
        [sys.executable, path],
        env={
            **os.environ,
            "GRIDLANE_DEVICE": device,
            "GRIDLANE_THREADS": "3",
            "GRIDLANE_CACHE": str(tmp_path / "cache"),
        },
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
