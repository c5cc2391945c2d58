"""The key of a kernel: no two kernels that differ have the same."""

from __future__ import annotations

import enum
import functools
import math
import operator
import types
from collections import namedtuple
from dataclasses import replace
from itertools import combinations

import ml_dtypes
import numpy as np
import pytest

from gridlane import cuda
from gridlane.compiler import cache_key
from gridlane.compiler.cache import DiskCache
from gridlane.core import trace
from gridlane.core.argtypes import float32, float64, int32
from gridlane.core.config import config
from gridlane.core.encoding import NotEncodable
from gridlane.core.options import KernelOptions
from gridlane.frontends.python.device_function import DeviceFunction
from gridlane.frontends.python.fingerprint import fingerprint
from gridlane.frontends.python.kernel_source import PythonSource
from gridlane.ir.printer import print_module

Point = namedtuple("Point", "x y")
Swapped = namedtuple("Point", "y x")  # the same name, other fields


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    RED = 1
    BLUE = 2


class Mine(Exception):
    pass


class Yours(Exception):
    pass


class Number(int):
    pass


def kernel_of(value):
    """A kernel that takes one thing from around it."""

    def kernel(out):
        out[0] = value

    return kernel


def device_of(value, **kw):
    def inner(x):
        return x + value

    return DeviceFunction(inner, **kw)


def _record(dtype):
    return np.zeros(2, dtype)


def _values():
    yield from (None, ..., False, True, 0, 1, 2**63, -1, 0.0, -0.0, 1.0, math.nan, math.inf)
    yield from (1j, 1 + 0j, complex(-0.0, 1), "", "1", "True", b"1", "a\0", Number(1))
    yield from (np.frombuffer(b"\1\0\0\0\0\0\xf8\x7f", "<f8")[0].item(),)
    yield from (np.bool_(1), np.int8(1), np.uint8(1), np.int32(1), np.int64(1), np.float16(1))
    yield from (np.float32(1), np.float64(1), np.complex64(1), ml_dtypes.bfloat16(1))
    yield from ((), (1,), (True,), (1.0,), ((1,),), (1, 2), ((1,), 2), (1, (2,)), ((1, 2),))
    yield from (("ab", "c"), ("a", "bc"), ("a", "b", "c"), Point(1, 2), Swapped(1, 2), (0.0,))
    yield from ((-0.0,), Point((1,), 2), Point(1, (2,)), (None,), (Point, 1), (Swapped, 1))
    for dtype in ("<i4", ">i4", "<u4", "<f4", ">f4", "<i2", "?", "u1", "<c8"):
        yield np.arange(4).astype(dtype)
    yield from (np.arange(4, dtype="<i8"), np.arange(4, dtype="<i8").reshape(2, 2))
    yield from (np.arange(4).reshape(1, 4), np.asfortranarray(np.arange(4).reshape(2, 2)))
    yield from (np.arange(4).reshape(2, 2).T.copy(), np.arange(8)[::2], np.arange(4)[::-1])
    yield from (np.array(3), np.array([3]), np.zeros(0), np.zeros((0, 2)), np.zeros(1))
    yield from (np.array([0.0]) * -1, np.array([math.nan]), np.zeros(2, ml_dtypes.bfloat16))
    yield np.zeros(2, ml_dtypes.float8_e4m3fn)
    yield _record([("a", "<i4"), ("b", "<i4")])
    yield _record([("b", "<i4"), ("a", "<i4")])
    yield _record({"names": ["a", "b"], "formats": ["<i4", "<i4"], "itemsize": 12})
    yield _record({"names": ["a", "b"], "formats": ["<i4", "<i4"], "offsets": [4, 0]})
    yield _record({"names": ["a", "b"], "formats": ["<i4", "<f4"]})
    yield np.zeros(1, [("a", "<i4")])[0]
    yield np.ones(1, [("a", "<i4")])[0]
    yield from (np.dtype("<i4"), np.dtype("<f4"), np.dtype(">f4"), np.dtype([("a", "<i4")]))
    yield np.dtype({"names": ["a"], "formats": ["<i4"], "itemsize": 8})
    yield from (int32, float32, float32[:], float32[::1], float32[:, ::1], float32[::1, :])
    yield from (Color, Level, Color.RED, Color.BLUE, Level.RED, Level.BLUE, (Color.RED,))
    yield from (Mine, Yours, ValueError, int, float, np.float32, np.float64, Point, Swapped)
    yield from (math, np, operator, math.sin, math.cos, np.sin, np.cos, np.add, operator.add)
    yield from (abs, len, range, cuda.grid, cuda.gridsize, cuda.threadIdx, cuda.blockIdx)
    yield from (cuda.threadIdx.x, cuda.threadIdx.y, cuda.shared, cuda.shared.array, cuda.atomic)
    yield from (device_of(1), device_of(2), device_of(1.0), device_of(np.float32(1)))
    yield device_of(1, options=KernelOptions(fastmath=True))
    yield device_of(1, signatures=(int32(int32),))
    yield device_of(1, signatures=(int32(float32),))
    yield device_of(1, signatures=(float32(int32),))
    yield device_of(device_of(1))
    yield device_of(device_of(2))
    same = device_of(1)
    yield (same, same)
    yield (device_of(1), device_of(1))


def test_kernels_that_take_different_things_have_different_keys():
    values = list(_values())
    keys = [fingerprint(kernel_of(value)) for value in values]
    clashes = [
        (values[a], values[b]) for a, b in combinations(range(len(keys)), 2) if keys[a] == keys[b]
    ]
    assert not clashes


def test_kernels_that_take_the_same_have_the_same_key():
    for one, other in zip(_values(), _values()):
        assert fingerprint(kernel_of(one)) == fingerprint(kernel_of(other)), one


def test_each_way_to_a_value():
    """The same two values, reached in each way that a kernel has."""

    def around(kernel):
        return fingerprint(kernel)

    def changed(make):
        one, other = make(1), make(1.0)
        assert around(one) == around(make(1)), "the test must see the value alone"
        assert around(one) != around(other)

    def by_module(value):
        settings = types.ModuleType("settings")
        settings.inner = types.ModuleType("inner")
        settings.inner.SIZE = value

        def kernel(out):
            out[0] = settings.inner.SIZE

        return kernel

    def by_class(value):
        Settings = type("Settings", (), {"SIZE": value})

        def kernel(out):
            out[0] = Settings.SIZE

        return kernel

    def by_object(value):
        settings = types.SimpleNamespace(inner=types.SimpleNamespace(SIZE=value))

        def kernel(out):
            out[0] = settings.inner.SIZE

        return kernel

    def by_property(value):
        settings = type("S", (), {"SIZE": property(lambda self: value)})()

        def kernel(out):
            out[0] = settings.SIZE

        return kernel

    def by_alias(value):
        settings = types.ModuleType("settings")
        settings.SIZE = value

        def kernel(out):
            mine = settings
            out[0] = mine.SIZE

        return kernel

    def by_alias_of_class(value):
        Settings = type("Settings", (), {"SIZE": value})

        def kernel(out):
            mine = (Settings, 1)
            out[0] = mine[0].SIZE

        return kernel

    def by_argument(value):
        Settings = type("Settings", (), {"SIZE": value})
        helper = DeviceFunction(_size_of)

        def kernel(out):
            out[0] = helper(Settings)

        return kernel

    def by_member(value):
        Planet = enum.Enum("Planet", "EARTH")
        Planet.EARTH.mass = value

        def kernel(out):
            out[0] = Planet.EARTH.mass

        return kernel

    def by_attribute_of_a_function(value):
        helper = device_of(3)
        helper.SIZE = value

        def kernel(out):
            out[0] = helper.SIZE

        return kernel

    def by_member_value(value):
        Planet = enum.Enum("Planet", {"EARTH": value})

        def kernel(out):
            out[0] = Planet["EARTH"].value

        return kernel

    def by_another_member(value):
        Planet = enum.Enum("Planet", {"EARTH": 7, "VENUS": value, "MARS": 4})

        def kernel(out):
            out[0] = (Planet.EARTH if out[0] else Planet.MARS).value

        return kernel

    def by_default(value):
        def helper(x, y=value):
            return x + y

        helper = DeviceFunction(helper)

        def kernel(out):
            out[0] = helper(1)

        return kernel

    def by_keyword_default(value):
        def helper(x, *, y=value):
            return x + y

        helper = DeviceFunction(helper)

        def kernel(out):
            out[0] = helper(1)

        return kernel

    def by_function_inside(value):
        def kernel(out):
            inner = lambda x: x + value  # noqa: E731
            out[0] = inner(1)

        return kernel

    def by_tuple_of_functions(value):
        helpers = (device_of(3), device_of(value))

        def kernel(out):
            out[0] = helpers[1](1)

        return kernel

    def by_lambda(value):
        helper = DeviceFunction(lambda x: x + value)

        def kernel(out):
            out[0] = helper(1)

        return kernel

    for make in [each for name, each in locals().items() if name.startswith("by_")]:
        changed(make)


def _size_of(settings):
    return settings.SIZE


SIZE = 1


def test_a_global_or_closure_that_changes(monkeypatch):
    def kernel(out):
        out[0] = SIZE

    seen = [fingerprint(kernel)]
    for value in (2, True, "1"):
        monkeypatch.setitem(globals(), "SIZE", value)
        seen.append(fingerprint(kernel))
    made = kernel_of(0)
    for value in (1, 2, True, "1"):
        made.__closure__[0].cell_contents = value
        seen.append(fingerprint(made))
    del made.__closure__[0].cell_contents
    seen.append(fingerprint(made))
    assert len(set(seen)) == len(seen)


def test_objects_that_lie_are_not_cached():
    class Same:
        def __eq__(self, other):
            return True

        def __hash__(self):
            return 0

        def __repr__(self):
            return "Same"

    class Meta(type):
        def __eq__(cls, other):
            return True

        __hash__ = type.__hash__

    class Lies(enum.Enum):
        ONE = 1

        def __eq__(self, other):
            return True

        __hash__ = enum.Enum.__hash__

    def broken(self):
        raise OSError

    objects = [
        *(Same(), object(), Meta("M", (), {}), Lies.ONE, (1, Same()), [1], {1: 2}, {1}, slice(3)),
        *(functools.partial(abs, 1), np.array([None]), lambda x: x, iter(())),
        *(device_of(Same()), Point(Same(), 1), type("S", (str,), {})("a"), (1).__add__),
    ]
    for value in objects:
        with pytest.raises(NotEncodable):
            fingerprint(kernel_of(value))
    settings = type("S", (), {"SIZE": property(broken)})()

    def kernel(out):
        out[0] = settings.SIZE

    with pytest.raises(NotEncodable, match="SIZE raises OSError"):
        fingerprint(kernel)


def test_functions_that_call_each_other():
    @cuda.jit(device=True)
    def even(n):
        return True if n == 0 else odd(n - 1)

    @cuda.jit(device=True)
    def odd(n):
        return False if n == 0 else even(n - 1)

    def kernel(out):
        out[0] = even(3)

    assert fingerprint(kernel) == fingerprint(kernel)


def test_functions_that_call_deep():
    def chain(depth, value):
        inner = device_of(value)
        for _ in range(depth):
            inner = calling(inner)
        return kernel_of(inner)

    def calling(inner):
        def outer(x):
            return inner(x)

        return DeviceFunction(outer)

    assert fingerprint(chain(2000, 1)) == fingerprint(chain(2000, 1))
    assert fingerprint(chain(2000, 1)) != fingerprint(chain(2000, 2))
    assert fingerprint(chain(2000, 1)) != fingerprint(chain(2001, 1))


def test_one_object_and_two_that_are_equal():
    def kernel_with(one, other):
        def kernel(out):
            out[0] = one is other

        return kernel

    one, other = np.dtype([("a", "i4")]), np.dtype([("a", "i4")])
    assert fingerprint(kernel_with(one, one)) != fingerprint(kernel_with(one, other))


def test_device_functions_by_their_constants():
    """Each call has its own constants; what is needed at compile time is baked in."""

    @cuda.jit(device=True)
    def pick(pair):
        array = cuda.local.array(pair[0], float64)
        array[0] = pair[1]
        return math.copysign(1.0, array[0])

    @cuda.jit
    def kernel(out):
        out[0] = pick((2, 0.0))
        out[1] = pick((2, -0.0))
        out[2] = pick((3, 0.0))
        out[3] = pick((2, 0))

    out = np.zeros(4)
    kernel[1, 1](out)
    assert out.tolist() == [1, -1, 1, 1]


# --- what is not cached, and what is frozen ---


@pytest.fixture
def events(monkeypatch):
    seen = []
    monkeypatch.setattr(trace, "enabled", lambda: True)
    monkeypatch.setattr(trace, "event", lambda kind, **details: seen.append((kind, details)))
    return seen


def test_the_trace_says_what_is_translated_for_its_key(events):
    settings = types.SimpleNamespace(SIZE=3)

    @cuda.jit
    def kernel(out):
        mine = settings
        out[0] = mine.SIZE

    out = np.zeros(1)
    kernel[1, 1](out)
    assert out[0] == 3
    ((_, details),) = [event for event in events if event[0] == "translated"]
    assert details["kernel"] == "kernel" and "SimpleNamespace" in details["reason"]


def test_a_source_keeps_its_values():
    kernel = kernel_of(1)
    source = PythonSource(kernel)
    key = source.key()
    module = source.translate((float64[::1],), KernelOptions())
    kernel.__closure__[0].cell_contents = 2
    assert source.key() == key
    assert source.translate((float64[::1],), KernelOptions()) is module
    assert "const 0x1.0" in print_module(source.translate((float32[::1],), KernelOptions()))
    assert PythonSource(kernel).key() != key


class Settings:
    size = 1


def frozen_kernel():
    """A kernel that reads one value in each way, and what changes it."""
    around, table = types.SimpleNamespace(size=1), np.array([1])

    def helper(x, size=1):
        return x + size

    helper_ = DeviceFunction(helper)
    cell = 1

    def kernel(out):
        out[0] = SIZE + Settings.size + around.size + cell + table[0] + helper_(1)

    def change(monkeypatch):
        nonlocal cell
        cell = around.size = table[0] = 100
        monkeypatch.setitem(globals(), "SIZE", 100)
        monkeypatch.setattr(Settings, "size", 100)
        helper.__defaults__ = (100,)

    return kernel, change


@pytest.mark.parametrize("warm", [True, False])
def test_values_freeze_for_all_launches(monkeypatch, tmp_path, warm):
    """Also where the first code came from the cache, and the second has to be made."""
    monkeypatch.setattr("gridlane.compiler.default_cache", lambda: DiskCache(tmp_path / "cache"))
    out = np.zeros(1)
    if warm:
        cuda.jit(frozen_kernel()[0])[1, 1](out)
    function, change = frozen_kernel()
    kernel = cuda.jit(function)
    kernel[1, 1](out)
    assert out[0] == 7
    change(monkeypatch)
    for block in (2, 1, 3):
        out[0] = 0
        kernel[1, block](out)
        assert out[0] == 7, block
    kernel.recompile()
    kernel[1, 2](out)
    assert out[0] == 601
    monkeypatch.undo()
    again = cuda.jit(frozen_kernel()[0])  # nothing of the above has another's key
    again[1, 2](out)
    assert out[0] == 7


def test_settings_that_change_code_are_in_every_key(monkeypatch):
    """The stack that functions get which call themselves, and the limit of spin loops."""
    digests = set()
    for change in ({}, {"stack": 1024}, {"spin_limit": 2.5}):
        settings = replace(config(), **change)
        monkeypatch.setattr(cache_key, "config", lambda settings=settings: settings)
        digests.add(cache_key._fixed.__wrapped__())
    assert len(digests) == 3
