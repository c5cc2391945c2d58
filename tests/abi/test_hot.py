"""What the C libraries answer alone is what Python answers.

Each program prints the same with GRIDLANE_NATIVE=0, where every call enters Python.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.abi import installed
from tests.abi.test_library import compiled, library, run  # noqa: F401  # a fixture

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def by_nvcc(factory, name, *words):
    """One of the programs, on the shared runtime."""
    source = str(HERE / "programs" / f"{name}.cu")
    return installed.by_nvcc(factory, name, "-cudart", "shared", source, *words)


IN_PYTHON = """
import ctypes, threading
from tests.waiting import until, until_blocked
from gridlane.cuda import runtime as rt
from gridlane.abi.library import entry
from gridlane.abi.state import contexts

c = ctypes.CDLL("libcudart.so.13")
entered = []
way_in = entry.way_in

def counted(row, call):
    enter = way_in(row, call)
    return lambda *values: entered.append(row.name) or enter(*values)

entry.way_in = counted

def rest():
    '''Wait until the threads of streams wait for work.'''
    for each in threading.enumerate():
        if each is not threading.main_thread():
            until_blocked(each)

def calls_of_python(call, *given):
    call(*given), call(*given)
    entered.clear()
    for _ in range(100):
        assert call(*given) == 0
    return len(entered)
"""


def in_python(library, text, **settings):  # noqa: F811
    """Run a program in Python that has the C library and gridlane's own functions."""
    run_python(library, "-c", IN_PYTHON + text, **settings)


def run_python(library, *words, **settings):  # noqa: F811
    found = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,  # where tests.waiting is found
        env=os.environ | {"LD_LIBRARY_PATH": str(library), "GRIDLANE_QUIET": "1"} | settings,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "well\n", "")


@pytest.mark.parametrize("name", ["hot_state", "hot_memory", "hot_work", "hot_events", "hot_made"])
def test_a_program_prints_the_same(name, library, tmp_path):  # noqa: F811
    made = compiled(name, library, tmp_path, str(library / "libcudart.so.13"))
    hot, cold = run(made, library), run(made, library, GRIDLANE_NATIVE="0")
    assert hot.stdout == cold.stdout and hot.stderr == cold.stderr == ""
    assert hot.stdout.count("\n") > 100


def test_known_state_enters_no_python(library):  # noqa: F811
    in_python(
        library,
        """
device = ctypes.byref(ctypes.c_int())
assert c.cudaFree(None) == 0
assert calls_of_python(c.cudaGetDevice, device) == 0
assert calls_of_python(c.cudaGetLastError) == 0
assert calls_of_python(c.cudaPeekAtLastError) == 0
assert calls_of_python(c.cudaSetDevice, 0) == 0
print("well")
""",
    )


def test_python_and_c_have_one_state(library):  # noqa: F811
    """What gridlane's functions in Python do is seen by those in C at once."""
    in_python(
        library,
        """
device = ctypes.c_int()
assert c.cudaFree(None) == 0
for _ in range(3):
    assert c.cudaGetLastError() == 0
    assert rt.cudaSetDevice(9)[0] == 101
    assert c.cudaPeekAtLastError() == 101 and c.cudaSetDevice(0) == 0
    assert rt.cudaGetLastError()[0] == 101
    assert c.cudaGetLastError() == 0
    assert c.cudaSetDevice(9) == 101
    assert rt.cudaGetLastError()[0] == 101
    assert c.cudaGetLastError() == 0
    assert c.cudaGetDevice(ctypes.byref(device)) == 0
    found = contexts.top()
    assert rt.cudaDeviceReset()[0] == 0
    assert c.cudaSetDevice(0) == 0
    assert contexts.top() is not found

def other():
    assert c.cudaGetLastError() == 0
    assert contexts.top() is None
    assert c.cudaSetDevice(0) == 0
    assert contexts.top() is not None
    assert c.cudaSetDevice(8) == 101

for _ in range(20):
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
assert c.cudaGetLastError() == 0
print("well")
""",
    )


def test_allocations_and_copies_enter_no_python(library):  # noqa: F811
    in_python(
        library,
        """
class Twice:
    def __init__(self):
        self.place = ctypes.c_void_p()

    def __call__(self, size):
        made = c.cudaMalloc(ctypes.byref(self.place), ctypes.c_size_t(size))
        return made or c.cudaFree(self.place)

p, value = ctypes.c_void_p(), ctypes.create_string_buffer(64)
for size in (64, 5 << 20):
    assert c.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(size)) == 0
    inner = ctypes.c_void_p(p.value + 60)
    assert calls_of_python(c.cudaMemcpy, p, value, ctypes.c_size_t(64), 1) == 0
    assert calls_of_python(c.cudaMemcpy, value, inner, ctypes.c_size_t(4), 2) == 0
    assert calls_of_python(c.cudaMemset, p, 5, ctypes.c_size_t(64)) == 0
assert calls_of_python(Twice(), 1000) == 0
assert calls_of_python(c.cudaDeviceSynchronize) == 0
assert calls_of_python(c.cudaStreamSynchronize, None) == 0
print("well")
""",
    )


def test_python_finds_what_c_allocated(library):  # noqa: F811
    """Other interfaces of gridlane's know the memory, and a block that they hold stays."""
    in_python(
        library,
        """
import gc
import numpy as np
from gridlane import cuda

class Foreign:
    def __init__(self, address, size):
        self.__cuda_array_interface__ = {
            "shape": (size,), "typestr": "<u1", "data": (address, False), "version": 3
        }

p = ctypes.c_void_p()
assert c.cudaMalloc(ctypes.byref(p), 1000) == 0
assert c.cudaMemset(p, 7, 1000) == 0
array = cuda.as_cuda_array(Foreign(p.value + 10, 900))
assert (array.copy_to_host() == 7).all()
assert rt.cudaPointerGetAttributes(p.value + 99)[1].type == 2
assert c.cudaMemset(p, 8, 1000) == 0 and (array.copy_to_host() == 8).all()
assert c.cudaFree(p) == 0 and c.cudaFree(p) == 1
places = []
for n in range(20):
    places.append(ctypes.c_void_p())
    assert c.cudaMalloc(ctypes.byref(places[-1]), 1000) == 0
    assert c.cudaMemset(places[-1], 9, 1000) == 0
assert (array.copy_to_host() == 8).all()
del array
gc.collect()
for each in places:
    assert rt.cudaFree(each.value)[0] == 0 and c.cudaFree(each) == 1
print("well")
""",
    )


def test_a_limit_of_the_device_s_memory_holds_in_c(library):  # noqa: F811
    in_python(
        library,
        """
p = ctypes.c_void_p()
assert c.cudaMalloc(ctypes.byref(p), 100) == 0 and c.cudaMalloc(ctypes.byref(p), 100) == 0
contexts.top().device.memory.limit = 1000
assert c.cudaMalloc(ctypes.byref(p), 600) == 0
assert c.cudaMalloc(ctypes.byref(p), 600) == 2
print("well")
""",
    )


def test_memory_stays_flat(library, tmp_path):  # noqa: F811
    made = compiled("hot_flat", library, tmp_path, str(library / "libcudart.so.13"))
    assert int(run(made, library).stdout) < 8000  # KiB


LAUNCH = """
from gridlane.abi.library import hot_launches

cu = ctypes.CDLL("libcuda.so.1")
text = (
    b".version 8.0\\n.target sm_80\\n.address_size 64\\n"
    b".visible .entry adds(.param .u64 p) { .reg .b64 %rd<2>; .reg .b32 %r<3>;\\n"
    b"ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1]; add.u32 %r2, %r1, 1;\\n"
    b"st.global.u32 [%rd1], %r2; ret; }\\n"
)
module, function, p = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert c.cudaMalloc(ctypes.byref(p), 4) == 0 and c.cudaMemset(p, 0, 4) == 0
assert cu.cuModuleLoadData(ctypes.byref(module), text) == 0
assert cu.cuModuleGetFunction(ctypes.byref(function), module, b"adds") == 0
arguments = (ctypes.c_void_p * 1)(ctypes.addressof(p))

def launch(library=cu):
    return library.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, arguments, None)

def added():
    value = ctypes.c_int()
    assert c.cudaMemcpy(ctypes.byref(value), p, ctypes.c_size_t(4), 2) == 0
    return value.value
"""


def test_launches_enter_no_python(library):  # noqa: F811
    in_python(
        library,
        LAUNCH
        + """
assert calls_of_python(launch) == 0 and added() == 102
# Who holds Python's lock lets Python launch: a kernel that prints waits for the lock.
assert calls_of_python(launch, ctypes.PyDLL("libcuda.so.1")) == 100 and added() == 204
print("well")
""",
    )


def test_threads_share_the_plan_of_a_launch(library):  # noqa: F811
    """The first launch of a thread is Python's; memory grew with the threads of a program."""
    in_python(
        library,
        LAUNCH
        + """
for _ in range(20):
    thread = threading.Thread(target=lambda: c.cudaSetDevice(0) or launch())
    thread.start()
    thread.join()
assert added() == 20 and len(hot_launches._known) == len(hot_launches._latest) == 1
assert cu.cuModuleUnload(module) == 0
assert not hot_launches._known and not hot_launches._latest
print("well")
""",
    )


def test_a_module_s_end_ends_its_plans(library):  # noqa: F811
    in_python(
        library,
        LAUNCH
        + """
assert calls_of_python(launch) == 0
(known,) = hot_launches._known.values()
assert known.plan.usable and not known.plan.users
assert cu.cuModuleUnload(module) == 0
assert launch() == 400 and added() == 102
assert not hot_launches._known
print("well")
""",
    )


def test_launches_by_the_runtime_print_the_same(library, tmp_path_factory):  # noqa: F811
    linked = "-Xlinker", str(installed.prefix(tmp_path_factory) / "lib" / "libcuda.so.1")
    made = by_nvcc(tmp_path_factory, "hot_launches", *linked)
    hot, cold = run(made, library), run(made, library, GRIDLANE_NATIVE="0")
    assert hot.stdout == cold.stdout and hot.stderr == cold.stderr == ""
    assert hot.stdout.count("\n") > 300 and "wrong 0" in hot.stdout
    assert "after launches that threw: 1\n" in hot.stdout


@pytest.mark.parametrize("native", ["0", "1"])
def test_threads_take_turns_of_the_default_stream(native, library, tmp_path_factory):  # noqa: F811
    found = run(by_nvcc(tmp_path_factory, "turns"), library, GRIDLANE_NATIVE=native)
    assert (found.stdout, found.stderr) == ("wrong 0\nwell\n", "")


def test_a_library_in_the_place_of_a_closed_one(library, tmp_path):  # noqa: F811
    """Its kernel has the host address that the other's had, and nothing is left of that one."""
    if not shutil.which("nvcc"):
        pytest.skip("nvcc is not installed, and it builds the libraries")
    source, main = tmp_path / "library.cu", tmp_path / "main.c"
    source.write_text(
        "#include <cstdio>\n"
        "__global__ void k(int *p) { *p = VALUE; }\n"
        'extern "C" void work() { int *d, h = 0; cudaMalloc(&d, 4);\n'
        "  for (int n = 0; n < 3; n++) { k<<<1, 1>>>(d);\n"
        "    cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost); putchar(48 + h); }\n"
        "  cudaFree(d); }\n"
    )
    main.write_text(
        "#include <dlfcn.h>\n#include <stdio.h>\n"
        'static long resident(void) { long pages = 0; FILE *file = fopen("/proc/self/statm", '
        '"r");\n  fscanf(file, "%*d %ld", &pages); fclose(file); return pages; }\n'
        "int main(int count, char **names) { long before = 0;\n"
        "  for (int n = 0; n < 600; n++) {\n"
        "    before = n == 300 ? resident() : before;\n"
        "    void *it = dlopen(names[1 + n % (count - 1)], RTLD_NOW);\n"
        '    ((void (*)(void))dlsym(it, "work"))();\n'
        "    dlclose(it); }\n"
        '  fprintf(stderr, "%ld", resident() - before); }\n'
    )
    options = ["-w", "-arch=sm_80", "-cudart", "shared", "-Xcompiler", "-fPIC", "-shared"]
    made = [tmp_path / f"lib{value}.so" for value in (1, 2)]
    for value, each in enumerate(made, 1):
        command = ["nvcc", *options, f"-DVALUE={value}", str(source), "-o", str(each)]
        subprocess.run(command, check=True, timeout=300)
    program = tmp_path / "program"
    subprocess.run(["cc", "-w", str(main), "-ldl", "-o", str(program)], check=True, timeout=300)
    for _ in range(2):  # the second time without Python
        found = run(program, library, *map(str, made), GRIDLANE_CACHE_DIR=str(tmp_path / "cache"))
        assert found.stdout == "111222" * 300
        assert int(found.stderr) < 250  # pages


def test_work_of_own_streams_keeps_its_order(library, tmp_path_factory):  # noqa: F811
    linked = "-Xlinker", str(installed.prefix(tmp_path_factory) / "lib" / "libcuda.so.1")
    made = by_nvcc(tmp_path_factory, "own_streams", *linked)
    hot, cold = run(made, library), run(made, library, GRIDLANE_NATIVE="0")
    assert hot.stdout == cold.stdout and hot.stderr == cold.stderr
    assert hot.stdout.endswith("well\n")
    assert "on a stream that ended: cudaErrorInvalidResourceHandle\n" in hot.stdout
    assert "a wait of a stream for itself: cudaErrorNotPermitted\n" in hot.stdout
    assert "after a trap: cudaErrorLaunchFailure\n" in hot.stdout


def test_events_behind_work_of_own_streams(library, tmp_path_factory):  # noqa: F811
    linked = "-Xlinker", str(installed.prefix(tmp_path_factory) / "lib" / "libcuda.so.1")
    made = by_nvcc(tmp_path_factory, "own_events", *linked)
    hot, cold = run(made, library), run(made, library, GRIDLANE_NATIVE="0")
    assert hot.stdout == cold.stdout and hot.stderr == cold.stderr == ""
    assert hot.stdout.endswith("well\n")


def test_launches_on_own_streams_enter_no_python(library):  # noqa: F811
    in_python(
        library,
        LAUNCH
        + """
stream = ctypes.c_void_p()
assert cu.cuStreamCreate(ctypes.byref(stream), 1) == 0
lasting = ctypes.c_int(0)

def on_stream():
    return cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, None)

for _ in range(3):
    assert on_stream() == 0
assert c.cudaStreamSynchronize(stream) == 0
# A host function keeps the stream's thread, so that no batch ends before the next launch.
hold = threading.Event()
work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: hold.wait())
assert cu.cuLaunchHostFunc(stream, work, None) == 0
assert calls_of_python(on_stream) == 0
hold.set()
assert c.cudaStreamSynchronize(stream) == 0 and added() == 105
print("well")
""",
    )


def test_waits_for_own_streams_enter_no_python(library):  # noqa: F811
    in_python(
        library,
        LAUNCH
        + """
import time

stream = ctypes.c_void_p()
assert cu.cuStreamCreate(ctypes.byref(stream), 1) == 0
value = ctypes.c_int.from_address(p.value)  # the device's memory is the host's

def on_stream():
    return cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, None)

def wait(library=c):
    return library.cudaStreamSynchronize(stream)

assert calls_of_python(wait) == 0 and calls_of_python(cu.cuStreamSynchronize, stream) == 0
assert calls_of_python(c.cudaStreamQuery, stream) == 0
launches = quiet = 0
while quiet < 3:  # the second launch has a plan
    assert on_stream() == 0
    launches += 1
    until(lambda: value.value == launches)
    rest()
    entered.clear()
    assert cu.cuStreamSynchronize(stream) == 0 and cu.cuStreamQuery(stream) == 0
    quiet += not entered
    assert quiet or launches < 10  # on a busy machine the thread may not have ended its work
    # Python knows as well that nothing is left, and of the work that it appends.
    assert c.cudaStreamQuery(stream) == 0 and rt.cudaStreamQuery(stream.value)[0] == 0
hold = threading.Event()
work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: hold.wait())
assert wait() == 0 and cu.cuLaunchHostFunc(stream, work, None) == 0
assert c.cudaStreamQuery(stream) == cu.cuStreamQuery(stream) == 600
assert on_stream() == 0 and on_stream() == 0 and c.cudaStreamQuery(stream) == 600
hold.set()
assert wait() == 0 and value.value == launches + 2
assert calls_of_python(wait) == 0
assert cu.cuStreamDestroy_v2(stream) == 0 and wait() == 400 and wait() == 400
print("well")
""",
    )


def test_copies_on_own_streams_enter_no_python(library):  # noqa: F811
    in_python(
        library,
        LAUNCH
        + """
stream, other = ctypes.c_void_p(), ctypes.c_void_p()
assert cu.cuStreamCreate(ctypes.byref(stream), 1) == 0
size, large = ctypes.c_size_t(64), ctypes.c_size_t(1 << 20)
q, host = ctypes.c_void_p(), ctypes.create_string_buffer(1 << 20)
assert c.cudaMalloc(ctypes.byref(q), large) == 0
for library in (c, cu):  # each has its own lane
    into = c.cudaMemcpyAsync if library is c else lambda to, at, n, _, s: (
        cu.cuMemcpyHtoDAsync_v2(to, at, n, s))
    back = c.cudaMemcpyAsync if library is c else lambda to, at, n, _, s: (
        cu.cuMemcpyDtoHAsync_v2(to, at, n, s))
    fill = c.cudaMemsetAsync if library is c else cu.cuMemsetD8Async
    host[0] = host[-2] = b"x"
    assert calls_of_python(into, q, host, large, 1, stream) == 0
    host[0] = host[-2] = b"y"
    assert calls_of_python(back, host, q, large, 2, stream) == 0
    assert host[0] == host[-2] == b"x"
    assert calls_of_python(fill, q, 5, size, stream) == 0
    assert calls_of_python(back, host, q, large, 2, stream) == 0
    assert host[:65] == bytes([5]) * 64 + b"\\0"
# Behind work of Python's a copy waits for it.
def later(_):
    hold.wait(), ctypes.memset(q, 7, 64)
hold, work = threading.Event(), ctypes.CFUNCTYPE(None, ctypes.c_void_p)(later)
assert cu.cuLaunchHostFunc(stream, work, None) == 0
assert c.cudaMemcpyAsync(ctypes.c_void_p(q.value + 64), q, size, 3, stream) == 0
threading.Timer(0.2, hold.set).start()
assert c.cudaMemcpyAsync(host, q, ctypes.c_size_t(128), 2, stream) == 0
assert host[:128] == bytes([7]) * 128
print("well")
""",
    )


def test_events_enter_no_python(library):  # noqa: F811
    in_python(
        library,
        """
from gridlane.abi.state import streams

first, last, none = ctypes.c_void_p(), ctypes.c_void_p(), None
elapsed = ctypes.c_float()
ms = ctypes.byref(elapsed)
for each in (first, last):
    assert c.cudaEventCreate(ctypes.byref(each)) == 0
assert calls_of_python(c.cudaEventRecord, first, none) == 0
assert calls_of_python(c.cudaEventRecord, last, none) == 0
assert calls_of_python(c.cudaEventQuery, first) == 0
assert calls_of_python(c.cudaEventSynchronize, last) == 0
assert calls_of_python(c.cudaEventElapsedTime, ms, first, last) == 0
assert calls_of_python(c.cudaStreamQuery, none) == 0
assert elapsed.value > 0
own = ctypes.c_void_p()
assert c.cudaStreamCreate(ctypes.byref(own)) == 0
assert calls_of_python(c.cudaStreamSynchronize, own) == 0 and c.cudaEventQuery(last) == 0
assert calls_of_python(c.cudaEventRecord, last, own) == 0
hold = threading.Event()
work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: hold.wait())
assert c.cudaLaunchHostFunc(own, work, None) == 0
assert c.cudaEventRecord(last, own) == 0 and c.cudaEventQuery(last) == 600
hold.set()
assert c.cudaEventSynchronize(last) == 0 and c.cudaEventQuery(last) == 0
assert calls_of_python(c.cudaStreamSynchronize, own) == 0
assert calls_of_python(c.cudaEventRecord, last, own) == 0
assert c.cudaEventElapsedTime(ms, first, last) == 0
told = elapsed.value
assert 0 < told < 60_000
# Python has the same events, and C does not lose them.
begin, end = (streams.event(each.value).native for each in (first, last))
assert abs(begin.elapsed_ms(end) - told) < 1e-3 * max(1, told)
assert calls_of_python(c.cudaEventElapsedTime, ms, first, last) == 0 and elapsed.value == told
streams.event(first.value).record(streams.stream(own.value))
assert calls_of_python(c.cudaEventElapsedTime, ms, first, last) == 0 and elapsed.value < 0
assert calls_of_python(c.cudaEventRecord, last, own) == 0
assert begin.elapsed_ms(end) > 0
# A recording in a capture is Python's alone, until the next one of the program.
graph = ctypes.c_void_p()
assert c.cudaStreamBeginCapture(own, 2) == 0
assert c.cudaEventRecord(last, own) == 0 and streams.event(last.value).mark is not None
assert c.cudaStreamEndCapture(own, ctypes.byref(graph)) == 0
assert c.cudaEventQuery(last) == c.cudaEventSynchronize(last) == 907
assert c.cudaEventElapsedTime(ms, first, last) == 907 and c.cudaGetLastError() == 907
assert c.cudaEventRecord(last, own) == 0 and streams.event(last.value).mark is None
assert calls_of_python(c.cudaEventQuery, last) == 0
assert calls_of_python(c.cudaEventElapsedTime, ms, first, last) == 0 and elapsed.value > 0
# An event that Python makes is C's at once.
made = ctypes.c_void_p(int(rt.cudaEventCreateWithFlags(2)[1]))
assert calls_of_python(c.cudaEventRecord, made, own) == calls_of_python(c.cudaEventQuery, made) == 0
assert streams.event(made.value).recorded
assert rt.cudaEventDestroy(made.value)[0] == 0 and c.cudaEventQuery(made) == 400
print("well")
""",
    )


def test_streams_and_events_are_made_without_python(library):  # noqa: F811
    in_python(
        library,
        """
import time
from gridlane.abi.state import streams

cu = ctypes.CDLL("libcuda.so.1")
made, event = ctypes.c_void_p(), ctypes.c_void_p()

def of_runtime(flags=1):
    return (c.cudaStreamCreateWithFlags(ctypes.byref(made), flags)
        or c.cudaEventCreateWithFlags(ctypes.byref(event), 2)
        or c.cudaEventRecord(event, made) or c.cudaStreamSynchronize(made)
        or c.cudaStreamDestroy(made) or c.cudaEventDestroy(event))

def of_driver():
    return (cu.cuStreamCreateWithPriority(ctypes.byref(made), 1, -2)
        or cu.cuEventCreate(ctypes.byref(event), 0)
        or c.cudaEventRecord(event, made) or cu.cuEventSynchronize(event)
        or c.cudaStreamDestroy(made) or cu.cuEventDestroy_v2(event))

assert c.cudaFree(None) == 0
for _ in range(3):  # Python makes the first ones, whose threads end
    assert of_runtime() == of_driver() == 0
assert not len(streams.streams) and not len(streams.events)
until(lambda: threading.active_count() == 1)
assert calls_of_python(of_runtime) == calls_of_python(of_driver) == 0
assert not len(streams.streams) and not len(streams.events)
# Python's functions see what C made and ended, and C what they did.
for _ in range(200):
    assert of_runtime() == 0 and rt.cudaStreamQuery(made.value)[0] == 400
    assert rt.cudaEventQuery(event.value)[0] == 400
    assert cu.cuStreamCreateWithPriority(ctypes.byref(made), 1, -2) == 0
    assert c.cudaEventCreate(ctypes.byref(event)) == 0 and c.cudaEventRecord(event, made) == 0
    assert rt.cudaStreamGetPriority(made.value) == (0, -2)
    assert rt.cudaStreamGetFlags(made.value) == (0, 1)
    begun = streams.event(event.value)
    assert begun.recorded and not begun.flags
    begun.point.synchronize()  # its stream's thread may have it
    assert begun.point.query()
    assert c.cudaEventQuery(event) == 0 and c.cudaStreamQuery(made) == 0
    assert c.cudaEventDestroy(event) == 0 and c.cudaStreamDestroy(made) == 0
    assert rt.cudaEventQuery(event.value)[0] == 400 and rt.cudaStreamQuery(made.value)[0] == 400
    assert not len(streams.streams) and not len(streams.events)
    assert c.cudaStreamCreate(ctypes.byref(made)) == 0
    assert rt.cudaStreamDestroy(made.value)[0] == 0 and c.cudaStreamQuery(made) == 400
    error, number = rt.cudaStreamCreate()
    assert error == 0 and cu.cuStreamDestroy_v2(ctypes.c_void_p(int(number))) == 0
    assert rt.cudaStreamQuery(number)[0] == 400
print("well")
""",
    )


def test_events_behind_work_enter_no_python(library):  # noqa: F811
    in_python(
        library,
        LAUNCH
        + """
streams = [ctypes.c_void_p() for _ in range(2)]
events = [ctypes.c_void_p() for _ in range(2)]
ms = ctypes.byref(ctypes.c_float())
for stream, event in zip(streams, events):
    assert cu.cuStreamCreate(ctypes.byref(stream), 1) == 0
    assert c.cudaEventCreate(ctypes.byref(event)) == 0

def on(stream):
    return cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, None)

def across():
    (first, second), (one, two) = streams, events
    return (on(first) or cu.cuEventRecord(one, first) or cu.cuStreamWaitEvent(second, one, 0)
        or on(second) or cu.cuEventRecord(two, second) or cu.cuStreamWaitEvent(first, two, 0))

assert cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, arguments, None) == 0
# Host functions keep the threads of both, so that no batch ends before the next launch.
hold = threading.Event()
work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: hold.wait(60))
for stream in streams:
    assert cu.cuLaunchHostFunc(stream, work, None) == 0
for _ in range(3):
    assert across() == 0
assert calls_of_python(across) == 0
assert c.cudaEventQuery(events[0]) == 600  # a thread is told by each library
(first, second), (one, two) = streams, events
assert calls_of_python(c.cudaEventRecord, one, first) == 0
entered.clear()
assert c.cudaEventQuery(one) == cu.cuEventQuery(two) == c.cudaStreamQuery(first) == 600
assert c.cudaEventElapsedTime(ms, one, two) == 600 and c.cudaGetLastError() == 0
assert not entered
assert rt.cudaEventQuery(one.value)[0] == 600  # Python knows it as well, and gives it back
assert c.cudaEventQuery(one) == 600
hold.set()
for event in events:
    assert c.cudaEventSynchronize(event) == 0
assert c.cudaStreamSynchronize(first) == 0 and added() == 1 + 6 + 2 * 102
assert c.cudaEventElapsedTime(ms, one, two) == 0
for _ in range(20):  # and with Python in between
    assert across() == 0 and c.cudaEventQuery(two) in (0, 600)
    assert rt.cudaEventQuery(one.value)[0] in (0, 600)
    assert across() == 0 and rt.cudaEventSynchronize(two.value)[0] == 0
    assert c.cudaEventQuery(two) == rt.cudaEventQuery(one.value)[0] == 0
assert c.cudaStreamSynchronize(first) == 0 and added() == 1 + 6 + 2 * 102 + 80
print("well")
""",
    )


def test_work_of_python_s_sends_no_other_call_to_python(library):  # noqa: F811
    """A capture does, in whatever thread."""
    in_python(
        library,
        """
cu = ctypes.CDLL("libcuda.so.1")
p, event, graph = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
stream, other = ctypes.c_void_p(), ctypes.c_void_p()
assert c.cudaMalloc(ctypes.byref(p), 64) == 0 and c.cudaEventCreate(ctypes.byref(event)) == 0
for each in (stream, other):
    assert c.cudaStreamCreateWithFlags(ctypes.byref(each), 1) == 0
size, unused = ctypes.c_size_t(64), ctypes.c_void_p()
work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)

def on_stream():
    return (c.cudaMemsetAsync(p, 5, size, stream) or c.cudaEventRecord(event, stream)
        or c.cudaEventSynchronize(event) or c.cudaStreamSynchronize(stream)
        or c.cudaMalloc(ctypes.byref(unused), 64))

def beside_python():
    return cu.cuLaunchHostFunc(other, work, None) or on_stream()

assert beside_python() == 0
assert calls_of_python(beside_python) == 100 and set(entered) == {"cuLaunchHostFunc"}
# Nor does what another thread gives its stream, once the thread has its context.
def in_thread():
    for _ in range(101):
        failed.append(c.cudaLaunchHostFunc(other, work, None))
        turn[0].release(), turn[1].acquire()

failed, turn = [], [threading.Semaphore(0), threading.Semaphore(0)]
thread = threading.Thread(target=in_thread, daemon=True)
thread.start()
for n in range(101):
    turn[0].acquire()
    assert on_stream() == 0
    if not n:
        entered.clear()
    turn[1].release()
thread.join()
assert not any(failed) and entered == ["cudaLaunchHostFunc"] * 100
assert c.cudaStreamBeginCapture(other, 0) == 0
entered.clear()
assert cu.cuMemAlloc_v2(ctypes.byref(unused), size) == 900 and entered == ["cuMemAlloc_v2"]
assert c.cudaStreamEndCapture(other, ctypes.byref(graph)) == 901
assert on_stream() == 0 and calls_of_python(on_stream) == 0
# Pools that hold memory have something to do at each wait.
assert c.cudaMallocAsync(ctypes.byref(unused), size, other) == 0
entered.clear()
assert c.cudaStreamSynchronize(stream) == 0 and entered == ["cudaStreamSynchronize"]
print("well")
""",
    )


def test_streams_with_work_end_without_python(library):  # noqa: F811
    in_python(
        library,
        LAUNCH
        + """
import time
from gridlane.abi.state import streams

made = ctypes.c_void_p()

def on(stream):
    return cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, None)

hold = threading.Event()
work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: hold.wait(60))
ended = []
for n in range(5):  # with an open lane, and with one that Python closed
    assert cu.cuStreamCreate(ctypes.byref(made), 1) == 0 and on(made) == on(made) == 0
    assert cu.cuLaunchHostFunc(made, work, None) == 0
    assert n % 2 or on(made) == 0
    assert cu.cuStreamQuery(made) == 600
    entered.clear()
    assert (cu.cuStreamDestroy_v2 if n < 3 else c.cudaStreamDestroy)(made) == 0
    assert n == 3 or not entered  # each library is told once
    ended.append(made.value)
for each in ended:
    assert rt.cudaStreamQuery(each)[0] == 400 and c.cudaStreamQuery(ctypes.c_void_p(each)) == 400
    assert cu.cuStreamDestroy_v2(ctypes.c_void_p(each)) == 400
assert not len(streams.streams)
threading.Timer(0.1, hold.set).start()
assert c.cudaDeviceSynchronize() == 0 and added() == 5 * 2 + 3
made = None
until(lambda: threading.active_count() == 1)  # their threads end with their work
print("well")
""",
    )


@pytest.mark.parametrize("native", ["0", "1"])
def test_the_error_of_a_stream_that_ended_is_told(native, library):  # noqa: F811
    in_python(
        library,
        LAUNCH.replace("st.global.u32 [%rd1], %r2; ret;", "st.global.u32 [%rd1], %r2; trap;")
        + """
stream = ctypes.c_void_p()
assert cu.cuStreamCreate(ctypes.byref(stream), 1) == 0
hold = threading.Event()
work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: hold.wait(60))
assert cu.cuLaunchHostFunc(stream, work, None) == 0
assert cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, None) == 0
assert cu.cuStreamDestroy_v2(stream) == 0 and rt.cudaStreamQuery(stream.value)[0] == 400
hold.set()
assert c.cudaDeviceSynchronize() == 719 and c.cudaMalloc(ctypes.byref(p), 4) == 719
print("well")
""",
        GRIDLANE_NATIVE=native,
    )


@pytest.mark.parametrize("native", ["0", "1"])
def test_a_free_tells_the_error_of_the_work_that_it_waits_for(native, library):  # noqa: F811
    in_python(
        library,
        LAUNCH.replace("st.global.u32 [%rd1], %r2; ret;", "st.global.u32 [%rd1], %r2; trap;")
        + """
stream = ctypes.c_void_p()
assert cu.cuStreamCreate(ctypes.byref(stream), 1) == 0
assert cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, None) == 0
assert c.cudaFree(p) == 719 and c.cudaDeviceSynchronize() == 719
print("well")
""",
        GRIDLANE_NATIVE=native,
    )


def test_a_default_stream_waits_for_an_event_without_python(library):  # noqa: F811
    in_python(
        library,
        LAUNCH
        + """
stream, event = ctypes.c_void_p(), ctypes.c_void_p()
assert cu.cuStreamCreate(ctypes.byref(stream), 1) == 0
assert cu.cuEventCreate(ctypes.byref(event), 0) == 0

def step():
    return (cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, None)
        or cu.cuEventRecord(event, stream) or cu.cuStreamWaitEvent(None, event, 0)
        or cu.cuEventQuery(event))

assert step() == step() == 0
for _ in range(20):  # a busy machine may take longer than C waits
    if calls_of_python(step) < 50:
        break
else:
    raise AssertionError(entered)
# What lasts, Python waits for.
hold = threading.Event()
work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: hold.wait(60))
assert cu.cuLaunchHostFunc(stream, work, None) == 0 and cu.cuEventRecord(event, stream) == 0
threading.Timer(0.1, hold.set).start()
assert cu.cuStreamWaitEvent(None, event, 0) == 0 and hold.is_set()
assert cu.cuEventQuery(event) == 0
print("well")
""",
    )


OWN = (
    LAUNCH
    + """
stream, event = ctypes.c_void_p(), ctypes.c_void_p()
value, size = ctypes.c_int(), ctypes.c_size_t(4)

def on(stream):
    return cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, None)

def without_python(call):
    '''Whether a call enters no Python, but where a busy machine took longer than C waits.'''
    return any(calls_of_python(call) < 20 for _ in range(100))
"""
)


def test_a_lane_stays_open_beside_the_default_stream(library):  # noqa: F811
    in_python(
        library,
        OWN
        + """
import time

assert cu.cuStreamCreate(ctypes.byref(stream), 0) == 0
assert cu.cuEventCreate(ctypes.byref(event), 0) == 0
count = 0

def mixed():
    global count
    count += 1
    failed = on(stream) or cu.cuMemcpyDtoH_v2(ctypes.byref(value), p, size)
    assert value.value == 3 * count - 2
    failed = failed or on(None) or on(stream) or cu.cuCtxSynchronize()
    assert ctypes.c_int.from_address(p.value).value == 3 * count
    return (failed or on(stream) or cu.cuMemsetD32_v2(p, 3 * count, ctypes.c_size_t(1))
        or on(stream) or cu.cuEventRecord(event, None) or cu.cuEventQuery(event)
        or cu.cuMemsetD32_v2(p, 3 * count, ctypes.c_size_t(1)))

assert mixed() == mixed() == mixed() == 0
assert without_python(mixed)

def later():
    rest()
    return on(stream) or cu.cuStreamSynchronize(stream)

assert without_python(later)
# Work of Python's closes it, and is waited for.
hold = threading.Event()
work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: hold.wait(60))
assert cu.cuLaunchHostFunc(stream, work, None) == 0 and on(stream) == 0
assert cu.cuStreamQuery(None) == 600
threading.Timer(0.1, hold.set).start()
assert cu.cuCtxSynchronize() == 0 and hold.is_set() and cu.cuStreamQuery(None) == 0
assert cu.cuStreamDestroy_v2(stream) == 0
until(lambda: cu.cuStreamQuery(stream) and threading.active_count() == 1)
print("well")
""",
    )


def test_threads_that_launch_and_wait_on_one_stream(library):  # noqa: F811
    """Who waits in Python is not held up by the lane that another thread opens."""
    in_python(
        library,
        OWN
        + """
assert cu.cuStreamCreate(ctypes.byref(stream), 1) == 0
failed, context = [], contexts.top().handle

def in_thread():
    failed.append(cu.cuCtxSetCurrent(ctypes.c_void_p(context)))
    for n in range(200):
        failed.append(on(stream))
        failed.append(rt.cudaStreamSynchronize(stream.value)[0] if n % 3 else on(stream))

threads = [threading.Thread(target=in_thread) for _ in range(4)]
for each in threads:
    each.start()
for each in threads:
    each.join()
assert not any(failed) and cu.cuCtxSynchronize() == 0 and added() == 4 * 200 + 4 * 67
print("well")
""",
    )


def test_a_wait_for_all_tells_the_error_of_a_lane(library):  # noqa: F811
    """Each time, though C does not ask Python whether all is done."""
    in_python(
        library,
        OWN.replace(
            "add.u32 %r2, %r1, 1;",
            "add.u32 %r2, %r1, 1; setp.eq.u32 %q, %r2, 30; @%q trap;",
        ).replace(".reg .b32 %r<3>;", ".reg .b32 %r<3>; .reg .pred %q;")
        + """
for _ in range(8):
    assert c.cudaMalloc(ctypes.byref(p), 4) == 0 and c.cudaMemset(p, 0, 4) == 0
    assert cu.cuModuleLoadData(ctypes.byref(module), text) == 0
    assert cu.cuModuleGetFunction(ctypes.byref(function), module, b"adds") == 0
    assert cu.cuStreamCreate(ctypes.byref(stream), 1) == 0
    for n in range(29):
        assert on(stream) == 0
        assert n % 9 or cu.cuCtxSynchronize() == 0
    assert on(stream) == 0 and cu.cuCtxSynchronize() == 719
    assert c.cudaDeviceReset() == 0
print("well")
""",
    )


def test_a_fork_loses_no_work_of_a_lane_that_is_done(library):  # noqa: F811
    in_python(
        library,
        OWN
        + """
import os
from gridlane.runtime.queues import host_queue

assert cu.cuStreamCreate(ctypes.byref(stream), 1) == 0
assert on(stream) == on(stream) == on(stream) == cu.cuStreamSynchronize(stream) == 0
child = os.fork()
if not child:
    os._exit(any(each.error is not None for each in host_queue._queues.values()))
assert os.waitpid(child, 0)[1] == 0
assert on(stream) == 0 and cu.cuStreamSynchronize(stream) == 0 and added() == 4
print("well")
""",
    )


def test_a_wait_for_streams_without_work_sends_no_call_to_python(library):  # noqa: F811
    in_python(
        library,
        """
p, large, stream = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
assert c.cudaMalloc(ctypes.byref(p), 64) == 0
assert c.cudaStreamCreate(ctypes.byref(stream)) == 0
assert c.cudaLaunchHostFunc(stream, work, None) == 0 and c.cudaStreamSynchronize(stream) == 0

def beside_python():
    return (c.cudaMalloc(ctypes.byref(large), ctypes.c_size_t(1 << 20)) or c.cudaFree(large)
        or c.cudaMemset(p, 1, ctypes.c_size_t(64)))

assert calls_of_python(beside_python) == 200 and set(entered) == {"cudaMalloc", "cudaFree"}
print("well")
""",
    )


@pytest.mark.parametrize("native", ["0", "1"])
def test_random_calls_keep_the_order_of_streams_and_events(native, library):  # noqa: F811
    """By a model of CUDA's rules, which is the same for both."""
    program = str(HERE / "orders.py")
    run_python(library, program, "0", "8", "100", GRIDLANE_NATIVE=native)
