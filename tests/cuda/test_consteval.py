"""``consteval``: what a kernel evaluates when it is compiled, on every device."""

import numpy as np
import pytest
from tests.devices import DEVICES

from gridlane.core.encoding import NotEncodable
from gridlane.cuda import float32, int32, int64
from gridlane.cuda.host.warnings import NumbaWarning
from gridlane.cuda.numba_compat.mlir import cuda, types
from gridlane.cuda.numba_compat.mlir.experimental import (
    consteval,
    current_target_options,
    local_array_from,
)
from gridlane.frontends.python.consteval_stubs import ConstevalError
from gridlane.frontends.python.fingerprint import fingerprint
from gridlane.launch import current
from gridlane.launch.devices import get_device

SCALE = 3
PAIRS = ((0, [10, 1]), (1, [20, 2]))


@pytest.fixture(params=["interp", *DEVICES])
def device(request):
    current.choose(get_device(request.param))


@cuda.jit(device=True)
def kind_of(x):
    return consteval(2 if x == types.int32 else 1)


def evaluated(x, values):
    i = cuda.grid(1)
    if i > 0:
        return
    with consteval():
        squares = [n * n for n in range(SCALE)]

        def plus(n):
            return n + SCALE

    for index, square in consteval(list(enumerate(squares))):
        if consteval(square % 2 == 0):
            x[index] = square
        else:
            x[index] = -square
    for place, (left, right) in consteval(PAIRS):
        x[3 + place] = consteval(left + right) + place
    for value in consteval(values):  # a tuple's items, which the kernel is given
        x[5] += value
    doubled = local_array_from((value * 2 for value in values), dtype=np.int32)
    x[6] = doubled[1] + consteval(plus(4))
    if not consteval(x.dtype == types.f32):
        x[7] = consteval(x.ndim) + place
    x[8] = kind_of(int32(1)) * 10 + kind_of(float32(1))
    x[9] = consteval(cuda.jit(device=True)(lambda: SCALE**2))()


def test_parts_are_evaluated_on_every_device(device):
    kernel = cuda.jit(evaluated)
    out = np.zeros(10, np.int32)
    kernel[1, 2](out, (5, 8))
    assert out.tolist() == [0, -1, 4, 11, 23, 13, 23, 2, 21, 9]


def test_the_text_without_its_parts():
    @cuda.jit(chip="sm_90")
    def kernel(x):
        n = consteval(SCALE)
        if consteval(current_target_options()["chip"] == "sm_90"):
            for i in consteval(range(n)):
                x[i] = float(i)
        elif consteval(1 // 0):  # a branch that is not taken is not evaluated
            x[0] = 9
        consteval(print("now"))

    kernel.compile((types.f32[::1],))
    text = "def kernel(x):\n    n = 3\n    x[0] = float(0)\n    x[1] = float(1)\n"
    text += "    x[2] = float(2)\n    i = 2"
    assert list(kernel.inspect_transformed_source().values()) == [text]


def test_a_value_of_one_path_is_not_known_after_it():
    @cuda.jit
    def kernel(x):
        n = consteval(1)
        if x[0] > 0:
            n = consteval(2)
        x[0] = consteval(n)

    with pytest.raises(ConstevalError, match="name 'n' is not defined"):
        kernel.compile((types.f32[::1],))


def undefined(x):
    x[0] = consteval(nowhere)  # noqa: F821


def leaves(x):
    for i in consteval(range(2)):
        if x[i] > 0:
            break


def rebinds(x):
    for i in consteval(range(2)):
        i = x[0]


def unpacks(x):
    for a, b in consteval([(1,)]):
        x[a] = b


def endless(x):
    for i in consteval(7):
        x[i] = 0


def of_array(x):
    for each in consteval(x):
        x[0] = each


def raises(x):
    with consteval():
        value = 1 // 0
    x[0] = value


def named(x):
    with consteval() as value:
        pass
    x[0] = value


@pytest.mark.parametrize(
    ("function", "words", "line"),
    [
        (undefined, "Cannot evaluate consteval argument 'nowhere' at compile time: NameError", 1),
        (leaves, "does not support break statements", 3),
        (rebinds, "does not support rebinding loop variable 'i'", 2),
        (unpacks, r"not enough values to unpack \(expected 2, got 1\)", 1),
        (endless, "consteval iterator must be iterable, got int", 1),
        (of_array, "Cannot unroll over parameter 'x' of type array", 1),
        (raises, "(?s)Error executing consteval block.*ZeroDivisionError", 2),
        (named, "'with consteval.. as value:' is not supported", 1),
    ],
)
def test_errors_have_the_line(function, words, line):
    with pytest.raises(ConstevalError, match=words) as caught:
        cuda.jit(function).compile((types.f32[::1],))
    assert caught.value.loc.line == function.__code__.co_firstlineno + line


def test_a_kernel_with_parts_has_no_key_of_its_source():
    with pytest.raises(NotEncodable):
        fingerprint(evaluated)


def test_on_the_host_it_raises():
    with pytest.raises(RuntimeError, match="evaluated before they are compiled"):
        consteval(1)
    with pytest.raises(RuntimeError, match="inside of consteval"):
        current_target_options()


def test_annotations_are_a_signature():
    @cuda.jit
    def kernel(x: types.f32[:], n: int):
        x[0] = n

    @cuda.jit(annotations_as_signatures=False)
    def free(x: types.f32[:], n: int):
        x[0] = n

    assert kernel.signatures == [(float32[:], int64)] and free.signatures == []
    out = np.zeros(1, np.float32)
    kernel[1, 1](out, np.int8(-3))
    assert out[0] == -3
    with pytest.raises(TypeError, match="takes int64"):
        kernel[1, 1](out, 2.5)
    with pytest.raises(TypeError, match="Conflicting signature sources"):
        cuda.jit("void(float32[:], int64)")(kernel.py_func)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"opt_lvel": 1}, ValueError, "invalid options: opt_lvel.; did you mean opt_level"),
        ({"opt_level": "3"}, TypeError, "Expected opt_level to be of type <class 'int'>, got 3"),
        ({"opt_level": 4}, ValueError, "between 0 and 3"),
        ({"chip": "90"}, ValueError, "a processor is 'sm_90'"),
        ({"help": True}, SystemExit, "experimental_ast_transforms"),
    ],
)
def test_wrong_options(options, error, words):
    with pytest.raises(error, match=words):
        cuda.jit(**options)(lambda x: None)


def test_options_that_print_stages_of_its_compiler_warn():
    with pytest.warns(NumbaWarning, match="dump_mlir prints a stage of .* inspect_ir"):
        cuda.jit(dump_mlir=True)(undefined)
