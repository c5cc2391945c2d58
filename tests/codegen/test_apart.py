"""LLVM in a helper process: the same code, whatever becomes of the helper."""

from __future__ import annotations

import os
import signal

import pytest

from gridlane.codegen.llvm import apart, machine
from gridlane.core.errors import GridlaneError
from gridlane.core.options import Target

TEXT = "define double @f{}(double %x) {{\n  %y = fmul double %x, {}.0\n  ret double %y\n}}\n"


@pytest.fixture(autouse=True)
def helper(monkeypatch):
    monkeypatch.setattr(apart, "FIRST", 0)
    own = apart._Helper()
    monkeypatch.setattr(apart, "_helper", own)
    yield own
    own.end()


def _made(number: int) -> tuple[bytes, bytes]:
    """A module's code by the helper, and by this process."""
    text, host = TEXT.format(number, number), machine.machine_for(Target("cpu"))
    return apart.object_code(text, host), machine.object_code(text, host)


def _process(helper) -> int:
    assert helper.process is not None
    return helper.process.pid


def test_code_is_the_same_and_helpers_end(helper, monkeypatch):
    monkeypatch.setattr(apart, "EACH", 2)
    processes = []
    for number in range(2, 6):
        there, here = _made(number)
        assert there == here
        processes.append(_process(helper))
    assert processes[0] == processes[1] != processes[2] == processes[3]


def test_a_helper_that_was_killed_is_replaced(helper):
    _made(2)
    first = _process(helper)
    os.kill(first, signal.SIGKILL)
    there, here = _made(3)
    assert there == here and _process(helper) != first


def test_without_helpers_this_process_compiles(monkeypatch):
    def started():
        raise OSError

    monkeypatch.setattr(apart, "_started", started)
    there, here = _made(4)
    assert there == here


def test_a_text_that_llvm_refuses(helper):
    host = machine.machine_for(Target("cpu"))
    with pytest.raises(GridlaneError, match="LLVM refuses the generated code"):
        apart.object_code("define double @f() {\n", host)
    there, here = _made(5)
    assert there == here


def test_a_forked_child_has_a_helper_of_its_own(helper):
    _made(2)
    first = _process(helper)
    child = os.fork()
    if not child:
        there, here = _made(3)
        other = apart._helper.process
        os._exit(0 if there == here and other is not None and other.pid != first else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert _made(4)[0] == _made(4)[1] and _process(helper) == first
