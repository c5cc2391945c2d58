"""What is OpenGL's own: contexts and threads, program binaries, what compilers say, objects."""

from __future__ import annotations

import gc
import threading
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from tests.runtime.arrays import params, to_device, words
from tests.runtime.single_buffer.helpers import opened, opener
from tests.runtime.single_buffer.texts import ADD_ONE, kernel

from gridlane.core.errors import DeviceError
from gridlane.runtime.drivers.opengl import api, contexts, programs
from gridlane.runtime.drivers.opengl.glsl_sources import complaint

KINDS = ["opengl", "opengl es"]


@pytest.fixture(params=KINDS)
def device(request, tmp_path, monkeypatch):
    made = opened(request.param, monkeypatch, tmp_path / "programs")
    yield made
    made.close()


def compiled(monkeypatch):
    """Counts what the driver's compiler is given."""
    counts: Counter[str] = Counter()
    original = programs.Compiler._compiled

    def counted(self, text, name):
        counts[name] += 1
        return original(self, text, name)

    monkeypatch.setattr(programs.Compiler, "_compiled", counted)
    return counts


def add_one(device):
    artifact = kernel(device, *ADD_ONE)
    data = to_device(device, np.zeros(64, np.uint32))
    device.load(artifact).bind((64, 1, 1)).launch(params(artifact, data, 64), 1, 1, 1, 0)
    assert (words(device, data) == 1).all()


@pytest.mark.parametrize("kind", KINDS)
def test_programs_are_kept(kind, tmp_path, monkeypatch):
    folder = tmp_path / "programs"
    device = opened(kind, monkeypatch, folder)
    if not device.engine._compiler._binaries:
        pytest.skip("the driver gives no program binaries")
    add_one(device)
    device.close()
    files = sorted(folder.iterdir())
    assert len(files) == 2  # the driver's own kernel, and this one
    counts = compiled(monkeypatch)
    device = opened(kind, monkeypatch, folder)
    add_one(device)
    device.close()
    assert not counts
    for damaged in (b"", b"glglprog", files[0].read_bytes()[:-1] + b"x"):
        for file in files:
            file.write_bytes(damaged)
        device = opened(kind, monkeypatch, folder)
        add_one(device)
        device.close()
    assert sum(counts.values()) == 6


def test_a_file_that_others_may_write_is_not_believed(tmp_path, monkeypatch):
    folder = tmp_path / "programs"
    for times in (1, 2):
        device = opened("opengl", monkeypatch, folder)
        counts = compiled(monkeypatch)
        add_one(device)
        device.close()
        assert sum(counts.values()) == times - 1 + (times == 1)
        for file in folder.iterdir():
            file.chmod(0o666)


def test_without_a_cache(monkeypatch):
    counts = compiled(monkeypatch)
    for _ in range(2):
        device = opened("opengl", monkeypatch, None)
        add_one(device)
        device.close()
    assert sum(counts.values()) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_contexts_of_others_stay(kind, device):
    """The calling thread's current context is the one that it had, also on another thread."""
    opener(kind)
    query = contexts._egl("eglGetCurrentContext")
    mine = contexts._desktop(0) if kind == "opengl" else contexts._embedded(0)
    wrong = []

    def work():
        try:
            before = query()
            add_one(device)
            assert query() == before
            with mine:
                current = query()
                assert current != before
                add_one(device)
                assert query() == current
            assert query() == before
        except BaseException as error:
            wrong.append(error)

    work()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    mine.end()
    assert not wrong


def test_a_context_is_left_when_something_is_raised():
    opener("opengl")
    context = contexts._desktop(0)
    with pytest.raises(KeyError):
        with context, context:
            raise KeyError
    with context:
        pass
    thread = threading.Thread(
        target=lambda: context.__enter__() or context.__exit__(None, None, None)
    )
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    context.end()


def test_nothing_is_left(device, monkeypatch):
    counts: Counter[str] = Counter()
    pairs = {
        "glGenBuffers": ("buffer", 1),
        "glDeleteBuffers": ("buffer", -1),
        "glCreateProgram": ("program", 1),
        "glDeleteProgram": ("program", -1),
        "glCreateShader": ("shader", 1),
        "glDeleteShader": ("shader", -1),
        "glFenceSync": ("fence", 1),
        "glDeleteSync": ("fence", -1),
        "glGenQueries": ("query", 1),
        "glDeleteQueries": ("query", -1),
    }
    gl = device.engine._gl
    for name, (kind, step) in pairs.items():
        function = getattr(gl, name)

        def counted(*args, function=function, kind=kind, step=step):
            counts[kind] += step
            return function(*args)

        setattr(gl, name, counted)
    stream = device.new_stream()
    for n in range(20):
        artifact = kernel(device, "values: ptr", f"heap[values + i] = {n}u;")
        bound = device.load(artifact).bind((64, 1, 1))
        data = device.allocate(4096)
        event = device.new_event()
        stream.launch(bound, params(artifact, data), 1, 1, 1, 0)
        event.record(stream)
        event.synchronize()
        assert (words(device, data)[:64] == n).all()
    artifact = kernel(device, "values: ptr", "heap[values] = wrong;")
    with pytest.raises(DeviceError, match="INVALID_IMAGE"):
        device.load(artifact)
    del bound, event
    gc.collect()
    device.fill(data.address, 0, 4)
    device.fill(data.address, 0, 4)  # gives back what the first one has used
    assert counts["program"] == counts["shader"] == counts["query"] == counts["buffer"] == 0
    assert counts["fence"] <= 2  # of the last submission, and one that the next one gives back


def test_a_barrier_behind_each_dispatch(device):
    """Software runs one after the other without, so what is called is looked at."""
    gl, calls = device.engine._gl, []
    for name in ("glDispatchCompute", "glMemoryBarrier"):
        function = getattr(gl, name)

        def noted(*args, function=function, name=name):
            calls.append((name, args))
            return function(*args)

        setattr(gl, name, noted)
    artifact = kernel(device, *ADD_ONE)
    bound = device.load(artifact).bind((64, 1, 1))
    data = to_device(device, np.zeros(64, np.uint32))
    for _ in range(3):
        bound.launch(params(artifact, data, 64), 1, 1, 1, 0)
    device.synchronize()
    pair = [("glDispatchCompute", (1, 1, 1)), ("glMemoryBarrier", (api.ALL_BARRIERS,))]
    assert calls == 3 * pair


def test_errors_of_the_driver(device, monkeypatch):
    gl = device.engine._gl
    for code, told in ((0x0502, r"719.*GL_INVALID_OPERATION"), (0x0505, "GL_OUT_OF_MEMORY")):
        with monkeypatch.context() as patch:
            patch.setattr(gl, "glGetError", lambda: code)
            with pytest.raises(DeviceError, match=told):
                device.synchronize()
                buffer = device.allocate(16)
                device.fill(buffer.address, 0, 16)
        device.reset()
        gl = device.engine._gl
        add_one(device)


def test_a_buffer_that_the_driver_has_no_memory_for(device, monkeypatch):
    kept = to_device(device, np.arange(100, dtype=np.uint32))
    with monkeypatch.context() as patch:
        patch.setattr(type(device.engine._gl), "new_buffer", lambda self, size, usage: 0)
        with pytest.raises(DeviceError, match=r"OUT_OF_MEMORY.*GL_OUT_OF_MEMORY"):
            device.allocate(4 << 20)
    assert (words(device, kept) == np.arange(100)).all() and device.allocate(4 << 20)


def test_a_functions_name_that_the_driver_lacks(monkeypatch):
    opener("opengl")
    monkeypatch.setitem(api.FUNCTIONS, "glNoSuch", (None, ()))
    monkeypatch.setattr(api.egl(), "eglGetProcAddress", lambda name: None)
    with pytest.raises(DeviceError, match="has no glNoSuch"):
        api.Functions().glNoSuch()


@pytest.mark.parametrize(
    "said",
    ["0:2(5): error: `b' undeclared", "0(2) : error C1503: undefined variable", "ERROR: 0:2: 'b'"],
)
def test_what_compilers_say(said):
    assert complaint("first\nsecond;\n", f"{said}\nother") == (
        f"{said}, in line 2 of the GLSL: second;"
    )
    assert complaint("first", "no such thing") == "no such thing"


def test_texts_that_the_compiler_would_choke_on(device, monkeypatch):
    """They are refused by their length with functions in the place of calls."""
    counts = compiled(monkeypatch)
    artifact = kernel(device, *ADD_ONE)
    monkeypatch.setattr(device.engine._compiler, "_longest", 100)
    body = "".join(f"    x = x + {n}.0;\n" for n in range(40))
    function = f"float f_long(float x) {{\n{body}    return x;\n}}\n"
    calls = "".join("    f_long(1.0);\n" for _ in range(3))
    text = artifact.code.decode().replace("void main() {\n", f"{function}void main() {{\n{calls}")
    with pytest.raises(
        DeviceError, match=r"its GLSL has 1\d\d lines .* more than 100\n  use float32"
    ):
        device.load(replace(artifact, code=text.encode()))
    assert not counts
