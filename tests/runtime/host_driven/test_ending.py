"""Work that is given while the interpreter ends: it is done, or refused in words."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from contextlib import suppress
from pathlib import Path

import pytest
from tests import on_shaders, on_vulkan, programs
from tests.on_metal import EMULATED
from tests.runtime.arrays import params
from tests.runtime.host_driven.programs import ADD_ONE, kernel
from tests.runtime.single_buffer.helpers import KINDS, opened
from tests.runtime.vulkan.conftest import require as require_vulkan
from tests.waiting import until

from gridlane.emulation.metal.machine import compiler
from gridlane.runtime.drivers import vulkan

DEVICES = ["cpu", *on_vulkan.found(), *on_shaders.found(), *(["metal"] if compiler() else [])]

KERNEL = """
import numpy as np
from gridlane import cuda

@cuda.jit("void(int32[::1])")
def step(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1

host = np.zeros(64, np.int32)

def all_ways():
    array = cuda.to_device(host)
    step[1, 64](array)
    assert (array.copy_to_host() == 1).all()
    mine = host.copy()
    step[1, 64](mine)
    assert (mine == 1).all()
    stream = cuda.stream()
    step[1, 64, stream](array)
    stream.synchronize()
    assert array.copy_to_host()[5] == 2

def told(name, work):
    try:
        work()
        print(name, "works")
    except BaseException as error:
        print(name, type(error).__name__, getattr(error, "number", error))

def told_each(name):
    for work in (
        lambda: step[1, 64](array),
        lambda: cuda.to_device(host),
        lambda: step[1, 64](host),
        lambda: array.copy_to_host(),
        lambda: cuda.synchronize(),
        lambda: stream.synchronize(),
        lambda: step[1, 64, stream](array),
        lambda: event.query(),
        lambda: event.synchronize(),
        lambda: event.elapsed_time(event),
        lambda: event.record(stream),
        lambda: cuda.device_array(5),
        lambda: cuda.pinned_array(5),
        lambda: cuda.current_context().get_memory_info(),
        lambda: cuda.detect(),
        lambda: cuda.current_context().reset(),
        lambda: cuda.close(),
    ):
        told(name, work)
"""

USED = """
array, stream, event = cuda.to_device(host), cuda.stream(), cuda.event()
event.record(stream)
step[1, 64](array)
cuda.synchronize()
"""

LATE = f"""
import atexit
atexit.register(lambda: told_each("late"))
{KERNEL}
atexit.register(lambda: told("early", all_ways))
{USED}
"""

DELETED = f"""
{KERNEL}
{USED}
class Last:
    def __init__(self):
        self.names = dict(globals())

    def __del__(self):
        globals().update(self.names)
        told_each("late")

last = Last()
last.itself = last
"""

DAEMON = f"""
import threading
{KERNEL}
{USED}
def work():
    begun.set()
    try:
        while True:
            all_ways()
    except BaseException as error:
        if getattr(error, "number", None) != 4:
            told("daemon", work)

begun = threading.Event()
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
begun.wait()
all_ways()
"""


def environment(kind: str) -> dict[str, str]:
    """For programs on a device."""
    return {**os.environ, "GRIDLANE_DEVICE": kind, **(EMULATED if kind == "metal" else {})}


def is_worded(line: str) -> bool:
    """Whether a line tells of work that was done or refused in words."""
    return line in ("late works", "late DeviceError 4")


@pytest.mark.parametrize("kind", DEVICES)
def test_functions_of_atexit(kind: str, tmp_path: Path) -> None:
    # In a process of its own, as those of the server have imported gridlane.
    done = subprocess.run(
        [sys.executable, "-c", LATE],
        cwd=tmp_path,
        env=environment(kind),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "early works"
    late = [line for line in lines if line.startswith("late")]
    assert len(late) == 17 and all(map(is_worded, late)), done.stdout + done.stderr
    assert (late[0] == "late works") == (kind == "cpu")


@pytest.mark.parametrize("kind", DEVICES)
def test_a_finaliser_while_the_interpreter_ends(kind: str, tmp_path: Path) -> None:
    done = programs.run(["-c", DELETED], tmp_path, environment(kind), seconds=60)
    assert done.returncode == 0, done.stderr
    late = [line for line in done.stdout.splitlines() if line.startswith("late")]
    assert len(late) == 17 and all(map(is_worded, late)), done.stdout + done.stderr


@pytest.mark.parametrize("kind", DEVICES)
def test_daemons_that_go_on(kind: str, tmp_path: Path) -> None:
    done = programs.run(["-c", DAEMON], tmp_path, environment(kind), seconds=60)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize("kind", ["vulkan", *KINDS])
def test_a_closed_device_is_freed_with_its_threads(kind, monkeypatch, tmp_path):
    """The threads of a driver's library are the process's until the device is freed."""
    if kind == "vulkan":
        require_vulkan()

    def used_once():
        made = vulkan.open_device() if kind == "vulkan" else opened(kind, monkeypatch, tmp_path)
        artifact, stream = kernel(made, ADD_ONE), made.new_stream()
        values = params(artifact, made.allocate(256), 1)
        stream.launch(made.load(artifact).bind((64, 1, 1)), values, 1, 1, 1, 0)
        made.synchronize()
        made.close()
        return weakref.ref(made)

    def threads():
        return len(os.listdir("/proc/self/task"))

    def use():
        freed = used_once()
        gc.collect()
        assert freed() is None
        gc.collect()  # what the first has ended

    def leaves() -> int:
        """How many threads a use leaves, which end some time after the library is told."""
        before = threads()
        use()
        with suppress(AssertionError):
            until(lambda: threads() <= before, 10)
        return threads() - before

    use()
    # A library may keep a few more threads, once each, where it has much to do.
    assert any(leaves() <= 0 for _ in range(10))


def test_a_closed_device_that_is_kept(tmp_path):
    """Its driver's objects were destroyed again at the end of the process."""
    require_vulkan()
    program = (
        "from gridlane.runtime.drivers import vulkan\nkept = vulkan.open_device()\nkept.close()"
    )
    done = programs.run(["-c", program], tmp_path, environment("vulkan"), seconds=60)
    assert (done.returncode, done.stderr) == (0, "")
