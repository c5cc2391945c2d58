"""Kernels of programs, closures and texts in other processes, which know none of their modules."""

from __future__ import annotations

import copy
import math
import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from gridlane import cuda
from gridlane.core.errors import GridlaneError
from gridlane.frontends.python import pickled

HERE = Path(__file__).parent
PROGRAM = HERE / "kernels_program.py"


def _run(*words):
    environment = {**os.environ, "GRIDLANE_DEVICE": "cpu"}
    subprocess.run([sys.executable, *map(str, words)], env=environment, check=True, timeout=300)


@pytest.fixture(scope="module")
def landed(tmp_path_factory):
    """The pickles of all kinds of kernels with their results here, and what came of them there."""
    file = tmp_path_factory.mktemp("sent") / "kernels"
    _run(PROGRAM, "plain", file)
    sent = pickle.loads(file.read_bytes())
    _run(HERE / "landing.py", PROGRAM, file)
    return sent, pickle.loads(file.read_bytes())


NAMES = """reads|stubs|mutual|raising|with_signatures|ufunc|host_ufunc|total|gufunc|tile|tuned|loops
as_text|closure|method|executed|first lambda|second lambda|specialised|scheduled|ptx|cpp|units"""


@pytest.mark.parametrize("name", NAMES.replace("\n", "|").split("|"))
def test_same_answer(landed, name):
    sent, results = landed
    first, is_same_object, after_another_step = results[name]
    assert first == sent[name][1] == after_another_step
    assert is_same_object, "a kernel that comes again is the one that is compiled"


def test_every_kind_was_sent(landed):
    sent, results = landed
    assert sorted(sent) == sorted(results) == sorted(NAMES.replace("\n", "|").split("|"))


def test_results_are_those_of_python(landed):
    """The results here, which are compared, are not all alike or wrong."""
    sent = {name: result for name, (_, result) in landed[0].items()}
    x = [0.0, 1.0, 2.0, 3.0]
    assert sent["reads"] == [3 * v + math.factorial(int(v)) + v + 2 + 5 for v in x]
    assert sent["mutual"] == [10.0, 20.0, 10.0, 20.0]
    assert sent["closure"] == [9.0] * 4 and sent["second lambda"][0] == 12.0
    assert sent["loops"] == pytest.approx([2 * v + 3 + math.sin(v) for v in x])
    assert sent["units"] == [v / 3 for v in x] and sent["tuned"] == [v + 5 for v in x]
    assert sent["raising"].startswith("OutOfTable") and "nothing there" in sent["raising"]


def _again(kernel):
    return pickle.loads(pickle.dumps(kernel))


def _value(kernel):
    x = np.zeros(1)
    kernel[1, 1](x)
    return x[0]


def test_values_are_those_of_the_time_of_pickling():
    limit = 4

    @cuda.jit
    def kernel(x):
        x[0] = limit

    first = pickle.dumps(kernel)
    limit = 9
    second = pickle.dumps(kernel)
    assert _value(pickle.loads(first)) == 4 and _value(pickle.loads(second)) == 9


def test_an_error_shows_the_line_of_the_file():
    @cuda.jit
    def wrong(x):
        x[0] = undefined_name

    with pytest.raises(GridlaneError) as caught:
        _value(_again(wrong))
    line = wrong.py_func.__code__.co_firstlineno + 2
    assert f"line {line}" in str(caught.value) and __file__ in str(caught.value)
    assert "        x[0] = undefined_name\n" in str(caught.value)


def test_options_and_defaults():
    @cuda.jit(fastmath=True, launch_bounds=64, max_registers=32, floats="float32")
    def kernel(x, value=7):
        x[0] = value

    again = _again(kernel)
    assert again is not kernel and again.options == kernel.options
    assert again.targetoptions == kernel.targetoptions and _value(again) == 7.0


def test_a_signature_stays_the_only_one():
    @cuda.jit("void(int32[:])")
    def kernel(x):
        x[0] = 1

    again = _again(kernel)
    assert [*again.overloads] == [*kernel.overloads]
    with pytest.raises(TypeError):
        again[1, 1](np.zeros((1, 1)))


def test_code_of_other_languages():
    text = "__device__ int triple(int x) { return 3 * x; }"
    triple = cuda.declare_device("_Z6triplei", "int32(int32)", link=cuda.CUSource(text), abi="c")

    @cuda.jit
    def kernel(x):
        x[0] = triple(5)

    assert _value(_again(kernel)) == 15


def test_indented_and_decorated():
    if True:

        @cuda.jit(
            # a comment
            fastmath=True
        )
        def kernel(
            x,
            add=(2),
        ):
            """Text with a line

            at no indentation: é.
            """
            x[0] = (lambda v: v + add)(1)

    assert _value(_again(kernel)) == 3


def test_a_matched_kernel_and_a_nested_function():
    @cuda.jit
    def kernel(x):
        def inner(v):
            return v + offset

        match int(x[0]):
            case 0:
                x[0] = inner(1)
            case _:
                x[0] = -1

    offset = 41
    assert _value(_again(kernel)) == 42


REFUSED = {
    "a device array": (cuda.to_device(np.zeros(2)), "device memory is that of one process"),
    "a stream": (cuda.stream(), "belongs to this process"),
    "a module of no file": (ModuleType("nowhere"), "nowhere cannot be imported"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_of_this_process_is_refused(name):
    thing, reason = REFUSED[name]

    @cuda.jit
    def kernel(x):
        x[0] = thing[0]

    with pytest.raises(
        pickle.PicklingError, match=f"kernel cannot be pickled: it reads thing.*{reason}"
    ):
        pickle.dumps(kernel)


def test_code_without_text_is_refused():
    scope = {"cuda": cuda}
    # No other test has this code: the same text elsewhere would be as good.
    text = "".join(["def without(x):\n", "    x[0] = 8128.5\n"])
    exec(compile(text, "<nothing>", "exec"), scope)
    del text
    with pytest.raises(pickle.PicklingError, match=r"source of without.* is not available"):
        pickle.dumps(cuda.jit(scope["without"]))


PTX = """
.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 count{value};
.visible .const .align 4 .u32 step = 2;
.visible .entry add(.param .u64 x) {{
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    ld.const.u32 %r2, [step];
    atom.global.add.u32 %r1, [count], %r2;
    st.global.u32 [%rd1], %r1;
    ret;
}}"""


def _count(kernel):
    x = np.zeros(1, np.uint32)
    kernel(1, 1, (x,))
    return int(x[0])


def test_a_variable_that_kernels_write_is_refused():
    with pytest.raises(pickle.PicklingError, match="variable count has no value in the text"):
        pickle.dumps(cuda.RawKernel(PTX.format(value=""), "add"))


def test_variables_begin_anew_wherever_a_module_comes_to():
    kernel = cuda.RawKernel(PTX.format(value=" = 5"), "add")
    assert [_count(kernel), _count(kernel)] == [5, 7]
    data = pickle.dumps(kernel)
    one, other = pickle.loads(data), pickle.loads(data)
    assert [_count(one), _count(one), _count(other)] == [5, 7, 5]


def test_a_module_whose_variable_the_host_has_is_refused():
    module = cuda.RawModule(code=PTX.format(value=" = 5"))
    module.get_global("step")
    with pytest.raises(pickle.PicklingError, match="get_global"):
        pickle.dumps(module)
    assert copy.deepcopy(module) is copy.copy(module) is module


def test_few_kernels_are_kept(monkeypatch):
    monkeypatch.setattr(pickled, "_MOST_KEPT", 2)

    def made(n):
        return cuda.jit(lambda x: cuda.atomic.add(x, 0, n))

    data = [pickle.dumps(made(n)) for n in range(4)]
    kernels = [pickle.loads(each) for each in data]
    assert pickle.loads(data[3]) is kernels[3] and pickle.loads(data[0]) is not kernels[0]
    assert [_value(each) for each in kernels] == [0, 1, 2, 3]
