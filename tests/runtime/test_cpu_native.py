"""What a process has one of, however many threads need it first."""

from __future__ import annotations

import ctypes
import functools
import gc
import subprocess
import sys
import threading
import weakref

import pytest

from gridlane.core.config import read
from gridlane.cuda.interop import dlpack_code
from gridlane.runtime import host_code
from gridlane.runtime.drivers import cpu_native

FIRST = """
import threading
import numpy as np
from gridlane import cuda
from gridlane.cuda.interop import dlpack_python

@cuda.jit
def add_one(x):
    x[cuda.grid(1)] += 1

errors, start = [], threading.Barrier(8)

def work():
    try:
        start.wait()
        x = np.zeros(32)
        add_one[1, 32](x)
        assert (x == 1).all()
        dlpack_python.export(x, x.ctypes.data, (1, 0), (2, 64), (32,), (1,), None)
    except BaseException as error:
        errors.append(error)

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not errors, errors
"""


@pytest.mark.parametrize(
    "module, inner, outer", [(cpu_native, "_pool", "pool"), (dlpack_code, "_linked", "linked")]
)
def test_threads_make_it_once(monkeypatch, module, inner, outer):
    made, start, meeting = [], threading.Barrier(4), threading.Barrier(2)

    def slowly():
        made.append(object())
        try:
            meeting.wait(0.1)  # for a second maker, who must not come
        except threading.BrokenBarrierError:
            pass
        return made[-1]

    monkeypatch.setattr(module, inner, functools.cache(slowly))
    threads = [
        threading.Thread(target=lambda: (start.wait(), getattr(module, outer)())) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def test_first_launches_of_several_threads(tmp_path):
    program = tmp_path / "first.py"
    program.write_text(FIRST)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_linkers_end_with_their_code():
    """LLVM keeps memory of each library that has ended, as long as its linker lives."""
    code = host_code.object_of("define i32 @f(i32 %x) { %y = add i32 %x, 3 ret i32 %y }")
    linkers, kept = [], []
    for number in range(3 * host_code._LINKS):
        made = host_code.Linked(f"test.linkers.{number}", code, ("f",))
        if host_code._Linkers.linker not in [each() for each in linkers]:
            linkers.append(weakref.ref(host_code._Linkers.linker))
            kept.append(made)
    assert 3 <= len(linkers) <= 4
    made = None
    gc.collect()
    assert [each() is not None for each in linkers] == [False] * (len(linkers) - 1) + [True]
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)
    for each in kept:  # what is linked stays where its linker goes
        assert function(each["f"])(4) == 7


ADDING = "define i32 @f(i32 %x) {{ %y = add i32 %x, {0} ret i32 %y }}"


def result(code, name):
    linked = host_code.Linked(f"test.kept.{name}", code, ("f",))
    return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(linked["f"])(1)


def test_code_is_kept_for_later_processes(monkeypatch, tmp_path):
    settings = {"GRIDLANE_CACHE_DIR": str(tmp_path)}
    monkeypatch.setattr("gridlane.core.config.config", lambda: read(settings))
    first = host_code.object_of(ADDING.format(5))
    (file,) = (tmp_path / "cpu").glob("*.object")
    with monkeypatch.context() as patch:
        patch.setattr(host_code.llvm, "parse_assembly", None)
        assert host_code.object_of(ADDING.format(5)) == first
    other = host_code.object_of(ADDING.format(6))
    assert [result(code, n) for n, code in enumerate((first, other))] == [6, 7]
    data = bytearray(file.read_bytes())
    for damaged in (data[:-1], b"", bytes(data[:60]) + b"\0" + bytes(data[61:])):
        file.write_bytes(damaged)
        assert host_code.object_of(ADDING.format(5)) == first
        assert file.read_bytes() == data
    settings["GRIDLANE_CACHE"] = "0"
    file.unlink()
    assert host_code.object_of(ADDING.format(5)) == first and not file.exists()
