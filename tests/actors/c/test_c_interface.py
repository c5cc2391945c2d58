"""Actors from C, in threads without Python, and by ctypes."""

from __future__ import annotations

import ctypes
import gc
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.actors.samples import Number, Total, ordered, total
from tests.waiting import until

from gridlane import actors
from gridlane.actors import ActorError, Reason, _engine

SOURCE = Path(__file__).with_name("threads.c")
TIMEOUT, CLOSED, WRONG_SIZE, NO_REPLIES, NOT_ACTIVE = -1, -2, -3, -5, -6
SECONDS = 10**9


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    made = tmp_path_factory.mktemp("c") / "threads.so"
    flags = ["-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-pthread"]
    subprocess.run(
        [compiler, *flags, f"-I{actors.include_folder()}", str(SOURCE), "-o", str(made)], check=True
    )
    found = ctypes.CDLL(str(made))
    found.call_from_threads.argtypes = (
        *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_long),
        ctypes.POINTER(ctypes.c_longlong),
    )
    found.begin.restype = ctypes.c_void_p
    found.begin.argtypes = ctypes.c_void_p, ctypes.c_void_p
    found.join.argtypes = (ctypes.c_void_p,)
    found.cancel.argtypes = ctypes.c_void_p, ctypes.c_void_p
    return found


@pytest.fixture(scope="module")
def api():
    """The table of the capsule."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return pointer(_engine.C_API, b"gridlane.actors._engine.C_API")


@pytest.fixture(scope="module")
def c():
    """The exported functions."""
    found = ctypes.CDLL(_engine.__file__)
    pointer, size, time = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64
    found.gridlane_actor_post.argtypes = pointer, pointer, size, time
    found.gridlane_actor_post_many.argtypes = (
        *(pointer, pointer, size, size, ctypes.c_int, time, pointer),
    )
    found.gridlane_actor_call.argtypes = pointer, pointer, size, pointer, size, time, time
    found.gridlane_actor_keep.argtypes = found.gridlane_actor_release.argtypes = (pointer,)
    return found


def call(c, handle, value, timeout=60 * SECONDS):
    """The result, and the reply."""
    message, reply = ctypes.c_int64(value), ctypes.c_int64()
    result = c.gridlane_actor_call(
        *(handle, ctypes.byref(message), 8, ctypes.byref(reply), 8, 0, timeout)
    )
    return result, reply.value


def test_four_threads(on_cpu, library, api):
    ref = on_cpu.launch(total)
    ref.activate()
    found = ctypes.c_longlong()
    assert library.call_from_threads(api, ref.c_handle, 4, 250, ctypes.byref(found)) == 0
    assert found.value == sum(range(1, 1001))
    assert ref.read_state() == Total(1000, 1000)


def test_threads_that_are_cancelled(on_cpu, library, api):
    """They keep no lock and no place: others call the actor afterwards."""
    ref = on_cpu.launch(total)
    ref.activate()
    ref.suspend()
    assert library.cancel(api, ref.c_handle) == 0
    ref.resume()
    assert ref.call(Number(1), timeout=60).value == 5
    until(lambda: len(on_cpu.dead_letters()) == 4)


def test_posts_in_order(on_cpu, c):
    ref = on_cpu.launch(ordered, capacity=8)
    ref.activate()
    numbers = (ctypes.c_int64 * 1000)(*range(1000))
    posted = ctypes.c_size_t()
    handle = ref.c_handle
    assert handle == ref.c_handle
    for alone in (0, 1):
        half = ctypes.byref(numbers, 500 * 8 * alone)
        assert (
            c.gridlane_actor_post_many(
                *(handle, half, 500, 8, alone, 20 * SECONDS, ctypes.byref(posted))
            )
            == 0
        )
        assert posted.value == 500
    one = ctypes.c_int64(1000)
    assert c.gridlane_actor_post(handle, ctypes.byref(one), 8, 20 * SECONDS) == 0
    ref.terminate()
    state = ref.read_state()
    assert (state.wrong, state.last[0]) == (0, 1000)


def test_what_is_wrong_is_told(on_cpu, c):
    ref, silent = on_cpu.launch(total, capacity=1), on_cpu.launch(ordered)
    message, reply = ctypes.c_int64(1), ctypes.c_int64()
    at, there = ctypes.byref(message), ctypes.byref(reply)
    handle = ref.c_handle
    assert call(c, handle, 1)[0] == NOT_ACTIVE
    assert c.gridlane_actor_post(handle, at, 4, 0) == WRONG_SIZE
    assert c.gridlane_actor_post(handle, at, 8, 0) == 0
    assert c.gridlane_actor_post(handle, at, 8, 1000) == TIMEOUT
    posted = ctypes.c_size_t(7)
    assert c.gridlane_actor_post_many(handle, at, 1, 8, 0, 0, ctypes.byref(posted)) == TIMEOUT
    assert posted.value == 0
    ref.activate()
    assert c.gridlane_actor_call(handle, at, 8, there, 4, 0, 0) == WRONG_SIZE
    assert call(c, handle, 2) == (0, 3)
    ref.suspend()
    assert call(c, handle, 2, 1000)[0] == TIMEOUT
    ref.deactivate()
    assert call(c, handle, 2)[0] == Reason.INACTIVE
    silent.activate()
    assert call(c, silent.c_handle, 1)[0] == NO_REPLIES
    silent.terminate()
    assert call(c, silent.c_handle, 1)[0] == CLOSED
    with pytest.raises(ActorError, match="has ended"):
        _ = _ended(on_cpu).c_handle


def _ended(runtime):
    ref = runtime.launch(total, name="ended")
    ref.terminate()
    return ref


def test_a_handler_that_fails(on_cpu, c):
    ref = on_cpu.launch(total, restart="fresh")
    ref.activate()
    assert call(c, ref.c_handle, -1)[0] == Reason.FAILED
    ref.call(Number(0), timeout=60)
    assert call(c, ref.c_handle, 3) == (0, 3)


def test_a_handle_outlives_its_runtime(c):
    with actors.Runtime(device="cpu", workers=1) as runtime:
        ref = runtime.launch(total)
        ref.activate()
        handle = ref.c_handle
        c.gridlane_actor_keep(handle)
        assert call(c, handle, 5) == (0, 5)
    del ref, runtime
    gc.collect()
    message = ctypes.c_int64(1)
    for _ in range(100):
        assert call(c, handle, 1)[0] == CLOSED
        assert c.gridlane_actor_post(handle, ctypes.byref(message), 8, 0) == CLOSED
    c.gridlane_actor_release(handle)


@pytest.mark.parametrize("what", ["terminate", "close"])
def test_threads_that_call_while_it_ends(library, api, what):
    with actors.Runtime(device="cpu", workers=2) as runtime:
        ref = runtime.launch(total)
        ref.activate()
        threads = library.begin(api, ref.c_handle)
        while ref.read_state().seen < 50:
            pass
        if what == "terminate":
            ref.terminate()
        else:
            runtime.close()
        assert library.join(threads) == 4
        del ref
    del runtime
    gc.collect()


def test_the_child_of_a_fork_is_told(on_cpu, c):
    ref = on_cpu.launch(total)
    ref.activate()
    handle = ref.c_handle
    child = os.fork()
    if not child:
        os._exit(0 if call(c, handle, 1)[0] == CLOSED else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert call(c, handle, 1) == (0, 1)
