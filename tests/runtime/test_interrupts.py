"""A signal of the process reaches Python while a kernel runs, and an exception ends the kernel.

Each program runs in a process of its own, since what is tested would else hang the tests.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

WATCHDOG_S = 300

PRELUDE = """
import faulthandler, os, signal, sys, threading, time
import numpy as np
from gridlane import cuda

@cuda.jit
def spin(x, endless):
    if endless:
        while True:
            pass

@cuda.jit
def spin_on_memory(x, endless):
    while endless and cuda.atomic.add(x, 0, 0) == 0:
        pass

@cuda.jit
def spin_at_a_barrier(x, endless):
    s = cuda.shared.array(1, np.int32)
    while endless:
        s[0] = x[0]
        cuda.syncthreads()
        if s[0] == 7:
            break
        cuda.syncthreads()

@cuda.jit
def talk(x, endless):
    while endless and x[0] == 0:
        print(x[0])

@cuda.jit
def increment(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1

def soon(number=signal.SIGINT, seconds=0.1):
    threading.Timer(seconds, os.kill, (os.getpid(), number)).start()

def came_back(run):
    back = False
    try:
        soon()
        run()
        back = True
        time.sleep(60)  # the signal is on its way
    except KeyboardInterrupt:
        pass
    return back

def ended(name, run, begin=lambda: None):
    begin()
    if came_back(run):
        print(name, "came back", file=sys.stderr)
    while not (stream.query() and other.query()):  # the signal came before the wait
        came_back(run)
    x = np.zeros(4096, np.int32)
    increment[16, 256](x)
    increment[16, 256, stream](x)
    assert (x == 2).all(), name
    print("ended", name, file=sys.stderr)

x, stream, other = cuda.to_device(np.zeros(4, np.int32)), cuda.stream(), cuda.stream()
event = cuda.event()
faulthandler.dump_traceback_later(240, exit=True)
for block in 1, 32, 64, 256:  # all is compiled before signals come
    increment[1, block](cuda.to_device(np.zeros(4, np.int32)))
    for kernel in spin, spin_on_memory, spin_at_a_barrier, talk:
        kernel[1, block](x, False)
"""

LAUNCHES = """
for kernel in spin, spin_on_memory, spin_at_a_barrier, talk:
    for grid in (1, 32), (64, 64):
        ended(f"{kernel.__name__} {grid}", lambda: kernel[grid](x, True))
"""

STREAMS = """
def waiting(name, wait, begin=lambda: spin[64, 64, stream](x, True)):
    ended(name, wait, begin)

def by_another_stream():
    event.record(stream)
    event.wait(other)
    other.synchronize()

def by_event():
    event.record(stream)
    event.synchronize()

def on_both():
    spin[64, 64, stream](x, True)
    spin[1, 32, other](x, True)

waiting("synchronize", stream.synchronize)
waiting("device", cuda.synchronize)
waiting("launch", lambda: increment[1, 32](x))
waiting("copy", x.copy_to_host)
waiting("event", by_event)
waiting("stream behind an event", by_another_stream)
waiting("two streams", cuda.synchronize, on_both)
"""

HANDLERS = """
y, seen = cuda.to_device(np.zeros(2, np.int32)), []
release = np.zeros(1, np.int32)

def looks(number, frame):
    seen.append(number)

def launches(number, frame):
    increment[1, 32](y)
    seen.append(int(y.copy_to_host()[0]))
    release[0] = 1

signal.signal(signal.SIGINT, looks)
signal.signal(signal.SIGTERM, launches)
soon(signal.SIGINT)
soon(signal.SIGTERM, 0.4)
spin_on_memory[8, 64](release, True)
assert seen == [signal.SIGINT, 1], seen
print("ended handlers", file=sys.stderr)

class Mine(Exception):
    pass

def raises(number, frame):
    raise Mine

signal.signal(signal.SIGTERM, raises)
try:
    soon(signal.SIGTERM)
    spin[8, 64](x, True)
except Mine as error:
    assert error.__traceback__ is not None
    print("ended by another exception", file=sys.stderr)

signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, raises)
try:
    soon(signal.SIGINT)
    soon(signal.SIGTERM, 0.4)
    spin[8, 64](x, True)
except Mine:
    print("ended ignoring", file=sys.stderr)
"""

PRINTS = """
class Closed:
    def write(self, text):
        raise BrokenPipeError(text)

sys.stdout, kept = Closed(), sys.stdout
try:
    talk[16, 64](x, True)
except BrokenPipeError:
    print("ended by print", file=sys.stderr)
sys.stdout = kept
ended("talk", lambda: talk[1, 32](x, True))
"""

FORKED = """
increment[64, 64](x)
child = os.fork()
if child == 0:
    try:
        ended("child", lambda: spin[64, 64](x, True))
        os._exit(0)
    except BaseException as error:
        print("child", repr(error), file=sys.stderr)
        os._exit(1)
assert os.waitpid(child, 0)[1] == 0
ended("parent", lambda: spin[64, 64](x, True))
"""

PROGRAMS = {
    "launches": (LAUNCHES, 8),
    "streams": (STREAMS, 7),
    "handlers": (HANDLERS, 3),
    "prints": (PRINTS, 2),
    "forked": (FORKED, 2),
}


@pytest.mark.parametrize(
    ("device", "program"),
    [("cpu", name) for name in PROGRAMS] + [("interp", "launches"), ("interp", "streams")],
)
def test_a_signal_ends_a_kernel(device, program):
    text, count = PROGRAMS[program]
    done = subprocess.run(
        [sys.executable, "-c", f"{PRELUDE}{text}"],
        env={**os.environ, "GRIDLANE_DEVICE": device, "GRIDLANE_THREADS": "3"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=WATCHDOG_S,
    )
    lines = done.stderr.splitlines()
    assert done.returncode == 0, done.stderr
    assert len(lines) == count and all(line.startswith("ended") for line in lines), done.stderr
