"""Forks and other processes: a child has a device that works, or an error that says why not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests import on_vulkan

PRELUDE = """
import faulthandler, linecache, multiprocessing, os, signal, sys, threading, time
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
        signal.alarm(60)  # the parent's watch is a thread that the child lacks
        code = 1
        try:
            code = 0 if run() else 1
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0

if __name__ == "__main__":
    faulthandler.register(signal.SIGALRM, chain=True)
    faulthandler.dump_traceback_later(240, exit=True)
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

    done = []

    def launch():
        assert works()

    def compiles():
        # a kernel of its own each time
        number = len(done)
        text = f"@cuda.jit\\ndef k(x):\\n    x[0] = x[0] * 2 + {number}"
        name = f"kernel-{number}.py"
        linecache.cache[name] = len(text), None, text.splitlines(True), name
        exec(compile(text, name, "exec"), {"cuda": cuda}, found := {})
        x = np.ones(1)
        found["k"][1, 1](x)
        assert x[0] == 2 + number
        done.append(number)

    def repeats(work):
        while going:
            work()
        ended.append(work)

    ended = []
    threads = [
        threading.Thread(target=repeats, args=[work], daemon=True)
        for work in (launch, launch, compiles)
    ]
    for thread in threads:
        thread.start()
    for _ in range(5):
        assert child_says(works)
    going = False
    for thread in threads:
        thread.join()
    assert works() and len(ended) == 3 and done
"""

LOCKS = """
    from gridlane.core import forks
    from gridlane.core.forks import fork_waits
    from tests.waiting import until
    from gridlane.memory.accounting import Accounting

    within, buffers, waited = threading.Event(), Accounting(), []

    def compiles():
        with fork_waits():
            within.set()
            until(lambda: forks._free._waiters, 20)  # the fork has begun, and waits for this thread
            waited.append(True)
            buffers.find(0, 1)

    thread = threading.Thread(target=compiles, daemon=True)
    thread.start()
    within.wait()
    assert child_says(lambda: buffers.find(0, 1) is None) and works()
    thread.join()
    assert waited
"""

PROCESSES = """
    assert works()
    for method in "fork", "spawn", "forkserver":
        with multiprocessing.get_context(method).Pool(1) as pool:
            assert pool.starmap(works, [()] * 2) == [True] * 2
"""

HOST_DRIVEN = """
    import gridlane

    with gridlane.device("vulkan"):
        x = cuda.to_device(np.zeros(64, np.int32))
        increment[2, 32](x)
        stream = cuda.stream()

        def child():
            for work in (lambda: increment[2, 32](x), x.copy_to_host, cuda.synchronize):
                try:
                    work()
                except DeviceError as error:
                    assert "forked" in str(error) and "spawn" in str(error)
                else:
                    return False
            with gridlane.device(os.environ["GRIDLANE_DEVICE"]):
                return works()

        assert child_says(child)
        increment[2, 32](x)
        assert (x.copy_to_host() == 2).all()
"""

NAMES = """
    begun = threading.Event()
    thread = threading.Thread(target=lambda: (begun.set(), cuda.stream()))
    thread.start()
    begun.wait()
    assert child_says(lambda: cuda.stream() is not None)
    thread.join()
"""

IMPORTS = """
    import importlib.util
    from tests.waiting import until_blocked

    begun, go_on = threading.Event(), threading.Event()

    class Slow:
        def find_spec(self, name, path, target=None):
            return importlib.util.spec_from_loader(name, self) if name.endswith(".slow") else None

        def create_module(self, spec):
            return None

        def exec_module(self, module):
            begun.set()
            go_on.wait()
            module.value = 5

    def value():
        from gridlane.core import slow
        return slow.value

    sys.meta_path.append(Slow())
    importing, ends = threading.Thread(target=value), []
    importing.start()
    begun.wait()
    forking = threading.Thread(target=lambda: ends.append(child_says(lambda: value() == 5)))
    forking.start()
    until_blocked(forking)
    go_on.set()
    forking.join()
    importing.join()
    assert ends == [True]
"""

FORKS_WHILE_IT_IMPORTS = """
    import importlib.util

    class Forks:
        def find_spec(self, name, path, target=None):
            return importlib.util.spec_from_loader(name, self) if name.endswith(".forks_") else None

        def create_module(self, spec):
            return None

        def exec_module(self, module):
            module.ends = child_says(works)

    sys.meta_path.append(Forks())
    from gridlane.core import forks_
    assert forks_.ends
"""

THREAD_ENDS = """
    assert works()
    ended = []

    def fork():
        child = os.fork()
        if not child:
            signal.alarm(60)
            return  # the end of the child's only thread ends the child
        ended.append(os.waitpid(child, 0)[1])

    thread = threading.Thread(target=fork)
    thread.start()
    thread.join()
    assert ended == [0] and works()
"""

PROGRAMS = {
    "a busy stream": BUSY_STREAM,
    "threads": THREADS,
    "locks": LOCKS,
    "names": NAMES,
    "imports": IMPORTS,
    "an import that forks": FORKS_WHILE_IT_IMPORTS,
    "processes": PROCESSES,
    "a thread's end": THREAD_ENDS,
}


def test_a_host_driven_device_stays_with_the_parent(tmp_path):
    if not on_vulkan.found():
        pytest.skip("no device of Vulkan")
    run(tmp_path, "cpu", HOST_DRIVEN)


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_forks(tmp_path, device, program):
    run(tmp_path, device, PROGRAMS[program])


def run(tmp_path, device, program, **settings):
    path = tmp_path / "program.py"
    path.write_text(PRELUDE + program)
    done = subprocess.run(
        [sys.executable, path],
        env={
            **os.environ,
            "GRIDLANE_DEVICE": device,
            "GRIDLANE_THREADS": "3",
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "GRIDLANE_CACHE": str(tmp_path / "cache"),
            **settings,
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


def test_a_child_that_launched_ends_as_children_with_pythons_own_threads(tmp_path):
    """Python ends a process in its main thread, and the child of a fork in another thread has none:
    its process ends with its last thread."""
    program = """
    from tests.waiting import until

    def launch():
        assert works()

    def start_a_daemon():
        threading.Thread(target=threading.Event().wait, daemon=True).start()

    def state_of(child):
        with open(f"/proc/{child}/task/{child}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]

    stayed = []

    def fork(work):
        child = os.fork()
        if not child:
            work()
            return
        try:
            until(lambda: state_of(child) == "Z")  # the thread that forked has ended
            stayed.append(os.waitpid(child, os.WNOHANG) == (0, 0))
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        assert child_says(works)  # by os._exit

    launch()
    for work in (start_a_daemon, launch):
        thread = threading.Thread(target=fork, args=(work,))
        thread.start()
        thread.join()
    assert stayed == [True, True] and works()
"""
    run(tmp_path, "cpu", program)


def test_limits_and_interrupts_in_a_child(tmp_path):
    """The first launches of a child start the threads that stop launches."""
    program = """
    @cuda.jit
    def endless(x):
        while x[0] == 0:
            pass

    assert works()

    def child():
        x = cuda.to_device(np.zeros(1, np.int32))
        try:
            endless[1, 1](x)
        except DeviceError as error:
            assert "GRIDLANE_TIMEOUT" in str(error), error
        else:
            return False
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        try:
            endless[1, 1](x)
        except KeyboardInterrupt:
            return works()
        return False

    assert child_says(child)
    assert works()
"""
    run(tmp_path, "cpu", program, GRIDLANE_TIMEOUT="2")
