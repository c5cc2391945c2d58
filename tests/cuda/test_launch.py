"""Arguments reach the device as the parameter layout says."""

from __future__ import annotations

import enum
from collections import namedtuple

import numpy as np
import pytest
from tests.cuda.fakes import view
from tests.waiting import until_blocked

from gridlane import cuda
from gridlane.core.errors import ArgumentError, LaunchError


def kernel_of(count):
    names = ", ".join(f"p{n}" for n in range(count))
    namespace = {}
    exec(f"def kernel({names}): pass", namespace)
    return cuda.jit(namespace["kernel"])


def launched(device, *args, grid=1, block=32):
    kernel_of(len(args))[grid, block](*args)
    return device.launches[-1][0]


def test_device_array_and_scalars(fake):
    x = cuda.to_device(np.arange(6, dtype=np.float32).reshape(2, 3))
    values = launched(fake, x, 7, 2.5, True, np.int8(-3), np.float32(1.5))
    assert values[0, "data"] == x.buffer.address
    assert [values[0, "shape", d] for d in (0, 1)] == [2, 3]
    assert [values[0, "strides", d] for d in (0, 1)] == [12, 4]
    assert (values[1,], values[2,], values[3,]) == (7, 2.5, True)
    assert (values[4,], values[5,]) == (-3, np.float32(1.5))


def test_host_array_is_passed_in_place_when_visible(fake):
    x = np.arange(4.0)
    values = launched(fake, x)
    assert values[0, "data"] == x.ctypes.data


def test_host_array_is_copied_and_copied_back(remote):
    def run(artifact, values, grid):
        view(values, 0, "f8")[...] += 1

    remote.run = run
    x = np.arange(4.0)
    values = launched(remote, x)
    assert values[0, "data"] != x.ctypes.data
    assert x.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("step", [1, -2])
def test_an_array_given_twice_has_one_copy(remote, step):
    """Of two copies, the one that was only read would come back last."""

    def run(artifact, values, grid):
        view(values, 0, "f8")[...] += 1

    remote.run = run
    x = np.arange(4.0)
    values = launched(remote, x[::step], x[::step])
    assert values[0, "data"] == values[1, "data"]
    assert x.tolist() == ([1, 2, 3, 4] if step == 1 else [0, 2, 2, 4])
    values = launched(remote, x[2:], x)
    assert values[0, "data"] == values[1, "data"] + 16


def test_strided_host_array_is_copied_back_between_its_gaps(remote):
    def run(artifact, values, grid):
        view(values, 0, "f8")[...] = -1

    remote.run = run
    x = np.arange(8.0)
    launched(remote, x[::-2])
    assert x.tolist() == [0, -1, 2, -1, 4, -1, 6, -1]


def test_in_is_not_copied_back(fake):
    def run(artifact, values, grid):
        view(values, 0, "f8")[...] = 9

    fake.run = run
    x, y = np.zeros(2), np.zeros(2)
    launched(fake, cuda.In(x))
    launched(fake, cuda.InOut(y))
    assert x.tolist() == [0, 0] and y.tolist() == [9, 9]


def test_read_only_arrays_have_a_kernel_of_their_own(fake):
    x = np.zeros(2)
    kernel = cuda.jit("void(float64[:])")(lambda x: None)
    for writeable in (True, False, False, True):
        x.flags.writeable = writeable
        kernel[1, 1](x)
    wanted = [types[0].readonly for _, types, _ in fake.compiler.compiled]
    assert wanted == [False, True] and len(fake.launches) == 4
    assert len(kernel.overloads) == 1


def test_tuples_complex_none_and_enums(fake):
    Pair = namedtuple("Pair", "a b")
    Colour = enum.IntEnum("Colour", "RED GREEN")
    values = launched(fake, Pair(1, (2.0, np.ones(3, np.int16))), 1 + 2j, None, Colour.GREEN)
    assert values[0, 0] == 1 and values[0, 1, 0] == 2.0
    assert values[0, 1, 1, "shape", 0] == 3
    assert (values[1, "real"], values[1, "imag"]) == (1, 2)
    assert values[3,] == 2


def test_what_a_number_or_an_array_would_not_stand_for_is_refused(fake):
    """A masked array is more than its data; an Enum's values may be anything."""
    member = enum.Enum("Colour", {"RED": [1], "GREEN": [2]}).GREEN
    masked = np.ma.array(np.arange(4.0), mask=[True, False, False, True])
    kernel = kernel_of(1)
    for _ in range(2):  # no plan is kept either
        for value in (member, (1, member)):
            with pytest.raises(ArgumentError, match=r"Colour is an Enum whose values have no hash"):
                kernel[1, 1](value)
        for value in (masked, (masked,)):
            with pytest.raises(ArgumentError, match=r"mask of a masked array; pass its filled\(\)"):
                kernel[1, 1](value)
    with pytest.raises(ValueError, match="lose the mask"):
        cuda.to_device(masked)
    assert not fake.launches


def test_record_is_passed_by_address_and_copied_back(fake):
    dtype = np.dtype([("a", "i4"), ("b", "f8")], align=True)

    def run(artifact, values, grid):
        from gridlane.launch.geometry import view_of

        view_of(int(values[0, "record"]), (), (), dtype, None)["b"] = 3.5

    fake.run = run
    records = np.zeros(2, dtype)
    launched(fake, records[1])
    assert records["b"].tolist() == [0, 3.5]


@pytest.mark.parametrize(
    ("value", "signature", "expected"),
    [
        (3, "float32", 3.0),
        (2**40 + 5, "int32", 5),
        (-1, "uint8", 255),
        (1e300, "float32", np.inf),
        (np.int64(-2), "int16", -2),
        (1.5, "complex64", 1.5),
        (True, "int32", 1),
    ],
)
def test_scalars_convert_to_the_signature(fake, value, signature, expected):
    kernel = cuda.jit(f"void({signature})")(lambda x: None)
    kernel[1, 1](value)
    values = fake.launches[-1][0]
    assert next(iter(values.values())) == expected


def test_kernels_are_compiled_by_types_and_block(fake):
    kernel = kernel_of(1)
    for block in (32, 64, (32, 1, 1)):
        for value in (1, 2, 2.0):
            kernel[1, block](value)
    assert [(str(t[0]), b) for _, t, b in fake.compiler.compiled] == [
        ("int64", (32, 1, 1)),
        ("float64", (32, 1, 1)),
        ("int64", (64, 1, 1)),
        ("float64", (64, 1, 1)),
    ]
    assert len(kernel.overloads) == 2


def test_configured_launches_are_kept(fake):
    kernel = kernel_of(0)
    assert kernel[1, 32] is kernel[1, 32]
    assert kernel[[2, 3], 32].griddim == (2, 3, 1)


@pytest.mark.parametrize(
    ("grid", "block", "words"),
    [
        (0, 32, "grid"),
        (1, (32, 0), "block"),
        (1, 1025, "most is 1024"),
        (1, (32, 64), "2048 threads"),
        (1, (1, 1, 65), "along z"),
        ((1, 70000), 1, "along y"),
    ],
)
def test_impossible_shapes(fake, grid, block, words):
    with pytest.raises(LaunchError, match=words):
        kernel_of(0)[grid, block]()


@pytest.mark.parametrize("shared", ["8", 2.5, None])
def test_dynamic_shared_memory_is_a_number_of_bytes(fake, shared):
    with pytest.raises(TypeError, match="sharedmem must be a number of bytes"):
        kernel_of(0)[1, 1, 0, shared]


def test_too_much_shared_memory(fake):
    with pytest.raises(LaunchError, match="shared memory"):
        kernel_of(0)[1, 1, 0, 1 << 20]()


def test_no_configuration(fake):
    with pytest.raises(ValueError, match="launch configuration was not specified"):
        kernel_of(0)()
    with pytest.raises(ValueError, match="griddim"):
        kernel_of(0)[1]
    with pytest.raises(TypeError, match="sequence of integers"):
        kernel_of(0)["x", 1]


def test_wrong_arguments_name_the_parameter(fake):
    with pytest.raises(ArgumentError, match="takes 2 arguments, 1 were given"):
        kernel_of(2)[1, 1](1)
    with pytest.raises(TypeError, match=r"argument 2, 'p1': .* type str"):
        kernel_of(2)[1, 1](1, "x")
    with pytest.raises(ArgumentError, match=r"'x', is float64, and .* takes int32"):
        cuda.jit("void(int32)")(lambda x: None)[1, 1](1.5)
    with pytest.raises(ArgumentError, match="dtype"):
        kernel_of(1)[1, 1](np.zeros(2, ">f4"))


def test_many_signatures(fake):
    add = cuda.jit(["(i8[::1], i8)", "(f8[::1], f8)", "(f4[::1], f4)"])(lambda r, x: None)
    add[1, 1](np.zeros(1), 2)
    assert fake.launches[-1][0][1,] == 2.0
    with pytest.raises(TypeError, match="No matching definition"):
        add[1, 1](np.zeros(1), 1j)
    twice = cuda.jit(["(f4, f8)", "(f8, f4)"])(lambda x, y: None)
    with pytest.raises(TypeError, match="Ambiguous overloading"):
        twice[1, 1](1.0, 2.0)


def test_streams_run_in_order_and_default_waits(fake):
    order = []

    def run(artifact, values, grid):
        if grid[0] == 1:
            until_blocked()  # the launch on the default stream waits
        order.append(grid[0])

    fake.run = run
    kernel, stream = kernel_of(0), cuda.stream()
    kernel[1, 1, stream]()
    kernel[2, 1, stream]()
    kernel[3, 1]()
    assert order == [1, 2, 3]


def test_forall(fake):
    kernel = kernel_of(1)
    kernel.forall(1000)(1)
    assert fake.launches[-1][1] == (4, 1, 1)
    kernel.forall(0)(1)
    assert len(fake.launches) == 1
    with pytest.raises(ValueError, match="negative task count"):
        kernel.forall(-1)


def test_arguments_by_name_and_defaults():
    @cuda.jit
    def kernel(out, a=3, b=None):
        out[0] = a
        if b is not None:
            out[1] = b

    out, there = np.zeros(2), cuda.to_device(np.zeros(2))
    for _ in range(3):  # the first launch, and those that know the plan
        kernel[1, 1](out)
        assert out.tolist() == [3, 0]
        kernel[1, 1](out, b=2.5, a=7)
        assert out.tolist() == [7, 2.5]
        kernel[1, 1](b=1, out=there)
        kernel.forall(1)(there, a=5)
        assert there.copy_to_host().tolist() == [5, 1]
        out[:] = 0
    with cuda.defer_cleanup():
        kernel[1, 1, cuda.stream()](out, 9)
    for args, keywords, words in (
        ((), {"a": 1}, "2 arguments|out is missing"),
        ((out, 1), {"a": 1}, "'a' is given twice"),
        ((out,), {"c": 1}, "'c' is no parameter"),
        ((out, 1, 2, 3), {}, "takes 3 arguments, 4 were given"),
    ):
        with pytest.raises(ArgumentError, match=words):
            kernel[1, 1](*args, **keywords)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_arguments_after_a_star_are_a_tuple(count):
    @cuda.jit
    def kernel(out, *values):
        if cuda.grid(1) == 0:
            out[0] = len(values)
            for value in values:
                out[1] += value

    out = np.zeros(2)
    kernel[1, 1](out, *[1, 2.5, np.int8(3)][:count])
    kernel.forall(1)(out, *[1, 2.5, np.int8(3)][:count])
    assert out.tolist() == [count, 2 * sum([1, 2.5, 3][:count])]
