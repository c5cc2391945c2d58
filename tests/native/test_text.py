"""The pool as LLVM IR: made for each system, used where there is no compiled module."""

import subprocess
import sys
from importlib.util import find_spec

import llvmlite.binding as llvm
import pytest

from gridlane.core.errors import CompileError
from gridlane.native import text

needs_compiler = pytest.mark.skipif(find_spec("ziglang") is None, reason="needs ziglang")

PROGRAM = """
import os, sys
sys.modules["gridlane.native._pool"] = None  # as if it were not installed
import numpy as np
import gridlane
from gridlane import cuda
from gridlane.runtime import host_code
from gridlane.runtime.drivers import cpu_native
from gridlane.runtime.queues import native_queues
from gridlane.native import INTERFACE
from tests.waiting import until

@cuda.jit
def count(x):
    for _ in range(300):
        x[cuda.blockIdx.x, cuda.threadIdx.x] += 1

with gridlane.device("cpu"):
    for blocks in (1, 2, 5000):
        x = np.zeros((blocks, 64), np.int64)
        count[blocks, 64](x)
        assert (x == 300).all()
    order, event = [], cuda.event()
    first, second = cuda.stream(), cuda.stream()
    count[5, 64, first](x)
    first.add_callback(lambda *_: order.append(1))
    event.record(first)
    event.wait(second)
    second.add_callback(lambda *_: order.append(2))
    first.add_callback(lambda *_: 1 / 0)
    second.synchronize()
    assert order == [1, 2] and (x[:5] == 600).all()
    try:
        first.synchronize()
    except ZeroDivisionError:
        order.append(3)
    assert order == [1, 2, 3]
    third, y = cuda.stream(), cuda.to_device(np.zeros((5, 64), np.int64))
    with cuda.capture(third) as graph:
        count[5, 64, third](y)
        third.add_callback(lambda *_: order.append(5))
        count[5, 64, third](y)
    repeated = graph.instantiate()
    for _ in range(2):
        repeated.launch(third)
    third.synchronize()
    assert order == [1, 2, 3, 5, 5] and (y.copy_to_host() == 1200).all()
    if not os.fork():
        first.add_callback(lambda *_: order.append(4))
        first.synchronize()
        os._exit(order != [1, 2, 3, 5, 5, 4])
    assert not os.wait()[1]

from gridlane.runtime.queues.host_stream import OwnHostStream

def raises(*_):
    raise KeyboardInterrupt

stream = OwnHostStream(None)
stream.submit(lambda: None)
stream.synchronize()
queue = stream.queue
sys.setprofile(raises)
del stream
sys.setprofile(None)
until(lambda: queue.thread is None)
assert native_queues.native.sizes()[0] == INTERFACE
assert isinstance(cpu_native.pool().code, host_code.Linked)
assert type(native_queues.native).__name__ == "Queues"
"""


@needs_compiler
@pytest.mark.parametrize("target", text.TARGETS.values())
def test_each_target_has_a_valid_text(target):
    llvm.initialize_all_targets()
    module = llvm.parse_assembly(text.compiled(target))
    module.verify()
    defined = {each.name for each in module.functions if not each.is_declaration}
    variables = {each.name for each in module.global_variables}
    assert defined >= {*text.SYMBOLS} and text.TABLE in variables


@needs_compiler
def test_the_text_launches():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@needs_compiler
def test_a_text_of_other_sources_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "path_of", lambda target: tmp_path / f"{target}.ll")
    made = text.text()
    (file,) = tmp_path.iterdir()
    file.write_text("; another digest\nnothing")
    assert text.text() == made == file.read_text()
    file.write_text(made + "; kept\n")
    assert text.text() == made + "; kept\n"


def test_without_compiler_and_text_the_error_tells_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "path_of", lambda target: tmp_path / f"{target}.ll")
    monkeypatch.setattr(text, "find_spec", lambda name: None)
    with pytest.raises(CompileError, match=r"install a C compiler.*gridlane\[cpp\]"):
        text.text()


def test_another_system_is_refused(monkeypatch):
    monkeypatch.setattr(text.platform, "machine", lambda: "riscv64")
    with pytest.raises(CompileError, match="no LLVM IR for riscv64"):
        text.text()
