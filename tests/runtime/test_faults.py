"""Faults of kernels on the CPU are errors of their launches; all other faults are the program's."""

import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import gridlane
from gridlane import cuda
from gridlane.core.device_errors import KernelFault
from gridlane.runtime.drivers.cpu_debug_lines import place_at

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere a fault ends the process"
)
AWAY = 1 << 40
"""Elements between those that a kernel reaches: no process has so much memory."""


@cuda.jit
def store(x, step):
    i = cuda.grid(1)
    if i == 0:
        x[0] += 1
    x[i * step] = 2  # here


@cuda.jit
def load(x, y, step):
    i = cuda.grid(1)
    for n in range(3):
        y[i] += x[(i + n) * step]  # here


@cuda.jit
def add(x, step):
    cuda.atomic.add(x, cuda.grid(1) * step, 1)  # here


@cuda.jit(device=True)
def inner(x, at):
    return x[at]  # here


@cuda.jit
def calls(x, y, step):
    i = cuda.grid(1)
    y[i] = inner(x, i * step)


@cuda.jit
def moved(x, at):
    x[at] = 1  # here; the same for all blocks, so behind their loop


@cuda.jit
def moved_twice(x, y, at, n):
    for _ in range(n):
        y[at] = x[at]


def line_of(function):
    """The line of a kernel, or of a device function, that reaches the memory."""
    code = getattr(function, "py_func", function).__code__
    with open(__file__) as file:
        lines = file.readlines()[code.co_firstlineno :]
    return code.co_firstlineno + 1 + next(n for n, line in enumerate(lines) if "# here" in line)


def arrays(count=256):
    return cuda.to_device(np.zeros(count, np.int32)), cuda.to_device(np.zeros(count, np.int32))


@pytest.fixture(autouse=True)
def on_cpu():
    with gridlane.device("cpu"):
        yield


def test_accesses_that_are_moved_out_of_loops():
    """Their instructions have no line of their own."""
    x, y = arrays(4)[:2]
    with pytest.raises(KernelFault) as error:
        moved[1, 1](x, AWAY)
    assert error.value.loc.line == line_of(moved)
    with pytest.raises(KernelFault) as error:
        moved_twice[1, 1](x, y, AWAY, 2)
    found = error.value
    assert {each.line for each in (found.loc, *found.candidates)} & {moved_twice_line()}


def moved_twice_line():
    return moved_twice.py_func.__code__.co_firstlineno + 3


@pytest.mark.parametrize("blocks", (1, 64))
@pytest.mark.parametrize(
    "kernel, where, pointers",
    ((store, store, 1), (load, load, 2), (add, add, 1), (calls, inner, 2)),
    ids=("store", "load", "atomic", "function"),
)
def test_the_error_has_the_line(kernel, where, pointers, blocks):
    """The process goes on, and so does the device."""
    given = arrays(64 * 64 + 2)[:pointers]
    with pytest.raises(KernelFault) as error:
        kernel[blocks, 64](*given, AWAY)
        cuda.synchronize()
    assert error.value.number == 700
    assert error.value.kernel == kernel.__name__
    assert (error.value.loc.file, error.value.loc.line) == (__file__, line_of(where))
    assert f"line {line_of(where)}" in str(error.value) and "--check" in str(error.value)
    kernel[blocks, 64](*given, 1)
    cuda.synchronize()
    assert (given[-1].copy_to_host() >= 0).all()


def test_in_a_stream_and_in_threads():
    errors = []

    def run():
        x, _ = arrays()
        stream = cuda.stream()
        store[4, 64, stream](x, AWAY)
        try:
            stream.synchronize()
        except KernelFault as error:
            errors.append(error.loc.line)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert errors == [line_of(store)] * 4


def test_code_without_places():
    assert place_at(b"no object", 0) == 0


PROGRAM = """
import ctypes, os, signal, sys
import numpy as np
from gridlane import cuda
from gridlane.core.device_errors import KernelFault
{before}

@cuda.jit
def store(x, step):
    x[cuda.grid(1) * step] = 2

x = cuda.to_device(np.zeros(64, np.int32))
def launch():
    try:
        store[1, 64](x, 1 << 40)
    except KernelFault as error:
        print("error", error.loc.line, flush=True)

launch()
{after}
"""
OUTSIDE = "ctypes.string_at(8)"


def run(after, before=""):
    made = PROGRAM.format(before=before, after=after)
    return subprocess.run([sys.executable, "-c", made], capture_output=True, text=True, timeout=300)


def test_faults_of_the_program_end_it():
    """As they would without the handler."""
    found = run(OUTSIDE)
    assert (found.returncode, found.stdout, found.stderr) == (-signal.SIGSEGV, "error 10\n", "")


def test_a_handler_from_before_gets_them():
    found = run(OUTSIDE, "import faulthandler; faulthandler.enable()")
    assert found.returncode == -signal.SIGSEGV and found.stdout == "error 10\n"
    assert found.stderr.startswith("Fatal Python error: Segmentation fault")


def test_signals_that_are_sent_end_the_program():
    found = run("os.kill(os.getpid(), signal.SIGSEGV)")
    assert (found.returncode, found.stdout) == (-signal.SIGSEGV, "error 10\n")


def test_in_the_child_of_a_fork():
    found = run("child = os.fork()\nif child: os.waitpid(child, 0)\nlaunch()")
    assert (found.returncode, found.stdout, found.stderr) == (0, "error 10\n" * 3, "")


def test_a_full_stack_is_the_programs():
    """The thread has a stack for the handler."""
    after = (
        "import threading\n"
        "def deep():\n"
        "    launch()\n"
        "    call = ctypes.CFUNCTYPE(ctypes.c_int)(lambda: call())\n"
        "    sys.setrecursionlimit(1 << 30)\n"
        "    call()\n"
        "t = threading.Thread(target=deep); t.start(); t.join()\n"
    )
    found = run(after, "import faulthandler; faulthandler.enable()")
    assert found.returncode == -signal.SIGSEGV and found.stdout == "error 10\n" * 2
    assert "Segmentation fault" in found.stderr
