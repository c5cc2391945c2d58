"""Launches of tile programs by the native launcher and by its twin in Python: the same."""

from __future__ import annotations

import ctypes
import gc
import itertools
import struct
import weakref

import numpy as np
import pytest

from gridlane.launch import launcher
from gridlane.launch.launcher import BOOLEAN, NUMBER, REAL, block_of
from gridlane.launch.launcher_tiles import CONSTANT, FIT, HOST, OWN, PARTS, TENSOR, WHOLE
from gridlane.runtime import tensor_maps

try:
    from gridlane.launch import _native
except ImportError:  # no C compiler where this was installed
    _native = None

CLASSES = [launcher.PythonLauncher] + ([_native.Launcher] if _native else [])
ABSENT, UNSET = object(), object()
LIMITS = (1000, 20, 10, 1, 1, 1)


@pytest.fixture(params=CLASSES, ids=lambda cls: cls.__name__)
def cls(request):
    return request.param


class Target:
    """Writes down what it gets, in place of a device."""

    def __init__(self):
        self.calls, self.answer = [], None

    def __call__(self, params, x, y, z, values):
        self.calls.append((params, (x, y, z), values))
        return self.answer


def made(cls, matchers, size, names, defaults, parameters, *, positional=None, hooks=()):
    """A launcher with one profile; ``slow`` collects what does not go to it."""

    class Mine(cls):
        def __init__(self):
            super().__init__()
            self.slow = []

        def _launch_over(self, grid, args, keywords):
            self.slow.append((grid, args, keywords))
            return "slow"

        def _elsewhere(self):
            other = Mine()
            self.other = other
            return other

    launch, target = Mine(), Target()
    positional = parameters if positional is None else positional
    launch.hooks = list(hooks)
    launch._name(names, defaults, parameters, positional, ABSENT, launch.hooks)
    launch._install(matchers, size, 0, 0, LIMITS, 0, 0, 0, 0, None, target, "done")
    return launch, target


class Array:
    def __init__(self, key, address):
        self.__gridlane_launch__ = key, struct.pack("<3Q", address, 5, 4)


class Tensor:
    def __init__(self, dtype, address, on_host=True, negative=False):
        self.dtype, self.is_cpu, self._address, self._negative = dtype, on_host, address, negative

    def is_neg(self):
        return self._negative

    def data_ptr(self):
        if self._address is None:
            raise RuntimeError("it has no storage")
        return self._address


class Pair:
    def __init__(self, one, two):
        self.one, self.two = one, two


def aligned(count=16, shift=0, dtype=np.float32):
    raw = np.zeros(count * 8 + 64, np.uint8)
    begin = -raw.ctypes.data % 16 + shift
    return raw[begin : begin + count * np.dtype(dtype).itemsize].view(dtype)


KEY, DTYPE = object(), object()
ARRAY, SHIFTED = aligned(), aligned(shift=4)
FROZEN = aligned()
FROZEN.flags.writeable = False
VALUES = [
    *(0, 1, 2, -1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, 2**63, -(2**63), 10**30),
    *(True, False, None, 1.0, 0.0, -0.0, float("nan"), 1e300, "text", "te" + "xt", b"text"),
    *((), (1, 2), (1, True), (1, 2.0), [1, 2], [1, 1], (2, (2, 3))),
    *(np.int32(1), np.int64(2), np.float32(1), np.bool_(True)),
    *(
        ARRAY,
        SHIFTED,
        FROZEN,
        ARRAY[::2],
        ARRAY[::-1],
        aligned(dtype=np.int32),
        ARRAY.reshape(4, 4),
    ),
    *(ARRAY.astype(">f4"), np.zeros((), np.float32), aligned().view(np.matrix)),
    *(Array(KEY, 64), Array(KEY, 68), Array(object(), 64), Array((), 64)),
    *(Tensor(DTYPE, 64), Tensor(DTYPE, 68), Tensor(object(), 64), Tensor(DTYPE, 64, False)),
    *(Tensor(DTYPE, 64, negative=True), Tensor(DTYPE, None), Tensor(DTYPE, "here"), object()),
    *(Pair(1, 2), Pair(2, 2), Pair("text", 2), Pair(1, [2]), Pair),
]
F4 = np.dtype(np.float32)
PART = (WHOLE, None, (-(2**63), 2**63 - 1, 4, 0), 0, 8)
MATCHERS = {
    **{f"constant {n}": (CONSTANT, None, value, 0, 0) for n, value in enumerate(VALUES[:30])},
    "int32": (WHOLE, None, (-(2**31), 2**31 - 1, 1, 1), 0, 4),
    "int64": (WHOLE, None, (2**31, 2**63 - 1, 1, 0), 0, 8),
    "multiples": (WHOLE, None, (-64, 64, 1, 0, 16), 0, 8),
    "no multiples": (WHOLE, None, (-64, 64, 1, 0, -16), 0, 8),
    "any int": (WHOLE, None, (-(2**63), 2**63 - 1, 1, 0), 0, 2),
    "scaled": PART,
    "own": (OWN, Array, (KEY, 16), 0, 8),
    "own, apart": (OWN, Array, (KEY, -16), 0, 8),
    "host": (HOST, np.ndarray, (F4, F4.num, 16), 0, 8),
    "host, apart": (HOST, np.ndarray, (F4, F4.num, -16), 0, 8),
    "host, anywhere": (HOST, np.ndarray, (F4, F4.num, 0), 0, 8),
    "tensor": (TENSOR, Tensor, (DTYPE, "is_cpu", 16, 0), 0, 8),
    "boolean": (BOOLEAN, None, None, 0, 1),
    "float": (REAL, None, None, 0, 4),
    "number": (NUMBER, np.int32, None, 0, 4),
    "list": (PARTS, list, (None, (PART, (WHOLE, None, (0, 9, 1, 1), 8, 8))), 0, 0),
    "tuple": (PARTS, tuple, (None, ((CONSTANT, None, 1, 0, 0), PART)), 0, 0),
    "empty": (PARTS, tuple, (None, ()), 0, 0),
    "object": (PARTS, Pair, (("one", "two"), ((CONSTANT, None, "text", 0, 0), PART)), 0, 0),
}


@pytest.mark.parametrize("name", MATCHERS)
def test_matchers(cls, name):
    """Each value matches, or does not, and has the same bytes, in C and in Python."""
    launch, target = made(cls, (MATCHERS[name],), 16, ("x",), (ABSENT,), 1)
    matched = 0
    for value in VALUES:
        target.calls.clear()
        result = launch._over((2,))(value)
        wanted = block_of([MATCHERS[name]], 16, [value])
        assert (result == "done") == (wanted is not None), value
        if wanted is not None:
            matched += 1
            assert target.calls == [(wanted, (2, 1, 1), (value,))]
    assert matched >= 1


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("aligned", [0, 1])
@pytest.mark.parametrize("mapped", [0, 1])
def test_descriptors_select_code(cls, rank, aligned, mapped):
    """By address, extents and strides in bytes: multiples of 16, and what tensor maps describe."""
    parts = [(WHOLE, None, (-(2**63), 2**63 - 1, 1, 0), 8 * n, 8) for n in range(2 * rank + 1)]
    fit = FIT, None, (rank, aligned, mapped), 0, 0
    matcher = PARTS, list, (None, (*parts, fit)), 0, 0
    launch, _ = made(cls, (matcher,), 8 * len(parts), ("x",), (ABSENT,), 1)
    seen = set()
    strides = (4, 16, 0, -16, 24, 2**40, 2**40 - 16)
    for address, first, last, stride in itertools.product(
        (0, 8, 64), (0, 1, -16, 2**31 - 1, 2**31), (0, 16, 17, 2**31), strides
    ):
        extents = [first] * (rank - 1) + [last]
        steps = [stride] * (rank - 1)
        has_multiples = all(each % 16 == 0 for each in (address, last, *steps))
        fits = address % 16 == 0 < address and all(0 < each < 2**31 for each in extents)
        fits = fits and all(each % 16 == 0 and 0 < each < 2**40 for each in steps)
        result = launch._over(1)([address, *extents, *steps, 4, None])
        assert (result == "done") == ((has_multiples, fits) == (bool(aligned), bool(mapped)))
        seen.add(result)
    assert seen == {"done", "slow"}


def test_dtypes_of_one_number(cls):
    """Unpickled arrays have a dtype of their own, and another one of its number is another type
    only with the other order of bytes."""
    launch, target = made(cls, (MATCHERS["host"],), 8, ("x",), (ABSENT,), 1)
    own = aligned()
    own.dtype = np.dtype("f4", copy=True)
    assert own.dtype is not F4
    assert launch._over(1)(own) == "done"
    assert target.calls[0][0] == struct.pack("<Q", own.ctypes.data)
    assert launch._over(1)(own.view(own.dtype.newbyteorder())) == "slow"


NAMES = ("x", "y", "SIZE", "warps", "stages", "ignored")
WHOLES = tuple([(WHOLE, None, (0, 99, 1, 0), 8 * n, 8) for n in range(3)])
OPTIONS = (CONSTANT, None, UNSET, 0, 0), (CONSTANT, None, 3, 0, 0)
DEFAULTS = (ABSENT, 5, 7, UNSET, 3)


@pytest.mark.parametrize(
    ("args", "keywords", "wanted"),
    [
        ((1,), {}, (1, 5, 7)),
        ((1, 2, 3), {}, (1, 2, 3)),
        ((1,), {"SIZE": 2}, (1, 5, 2)),
        ((), {"SIZE": 2, "x": 9, "y": 8}, (9, 8, 2)),
        ((1,), {"SI" + "ZE"[:2]: 4, "ignored": object()}, (1, 5, 4)),
        ((1,), {"stages": 3}, (1, 5, 7)),
        ((1,), {"stages": 4}, None),
        ((1,), {"warps": 4}, None),
        ((), {}, None),
        ((1, 2, 3, 4), {}, None),
        ((1,), {"x": 2}, None),
        ((1,), {"other": 2}, None),
        ((100,), {}, None),
    ],
)
def test_arguments_by_name(cls, args, keywords, wanted):
    launch, target = made(cls, (*WHOLES, *OPTIONS), 24, NAMES, DEFAULTS, 3)
    result = launch._over((4, 5))(*args, **keywords)
    if wanted is None:
        assert result == "slow" and not target.calls
        assert launch.slow == [((4, 5), args, keywords)]
    else:
        assert result == "done" and not launch.slow
        assert [call[:2] for call in target.calls] == [(struct.pack("<3q", *wanted), (4, 5, 1))]


def test_names_beyond_the_positional_ones(cls):
    launch, _ = made(cls, (*WHOLES, *OPTIONS), 24, NAMES, DEFAULTS, 3, positional=2)
    assert launch._over(1)(1, 2, SIZE=3) == "done"
    assert launch._over(1)(1, 2, 3) == "slow"


class Index:
    def __index__(self):
        return 3


@pytest.mark.parametrize(
    ("grid", "numbers"),
    [
        (3, (3, 1, 1)),
        ((3,), (3, 1, 1)),
        ([3, 2], (3, 2, 1)),
        ((True, np.int64(2), Index()), (1, 2, 3)),
        ((1000, 20, 10), (1000, 20, 10)),
        ((0,), ()),
        ((4, 0), ()),
        ((1001,), None),
        ((1, 21), None),
        ((-1,), None),
        ((1.0,), None),
        ((2**70,), None),
        ((), None),
        ((1, 1, 1, 1), None),
        ("3", None),
        (None, None),
    ],
)
def test_grids(cls, grid, numbers):
    """Of numbers, and as what a function returns, which is called once."""
    for make in (lambda: grid, lambda: lambda named: seen.append(named) or grid):
        seen = []
        launch, target = made(cls, (*WHOLES, *OPTIONS), 24, NAMES, DEFAULTS, 3)
        result = launch._over(make())(1, SIZE=2)
        assert result == ("slow" if numbers is None else "done")
        assert [call[1] for call in target.calls] == ([numbers] if numbers else [])
        assert launch.slow == ([(grid, (1,), {"SIZE": 2})] if numbers is None else [])
        assert seen in ([], [{"x": 1, "y": 5, "SIZE": 2}])
    assert seen


def test_errors_of_a_grids_function(cls):
    launch, target = made(cls, (*WHOLES, *OPTIONS), 24, NAMES, DEFAULTS, 3)
    with pytest.raises(ZeroDivisionError):
        launch._over(lambda named: 1 // 0)(1)
    assert not target.calls and not launch.slow


def test_targets_that_do_not_launch(cls):
    launch, target = made(cls, (*WHOLES, *OPTIONS), 24, NAMES, DEFAULTS, 3)
    target.answer = NotImplemented
    assert launch._over(1)(1) == "slow"
    target.answer = property(lambda self: 1)
    assert launch._over(1)(1) == "done"
    launch, _ = made(cls, (*WHOLES, *OPTIONS), 24, NAMES, DEFAULTS, 3)
    launch._forget()
    assert launch._over(1)(1) == "slow"


def test_hooks(cls):
    launch, _ = made(cls, (*WHOLES, *OPTIONS), 24, NAMES, DEFAULTS, 3)
    assert launch._over(1)(1) == "done"
    launch.hooks.append(print)
    assert launch._over(1)(1) == "slow"
    launch.hooks.clear()
    assert launch._over(1)(1) == "done"


def test_guards(cls):
    """Of a dictionary's item, of an object's attribute, and of a closure's cell."""
    launch, _ = made(cls, (*WHOLES, *OPTIONS), 24, NAMES, DEFAULTS, 3)
    free, names, thing, value = object(), {"name": KEY}, Pair(KEY, 1), [0]

    def outer():
        nonlocal free
        free = value[0]
        return free

    cell = outer.__closure__[0]
    held = cell.cell_contents
    launch._guard(((names, "name", KEY), (thing, "one", KEY), (cell, None, held)))
    assert launch._over(1)(1) == "done"
    for spoil, mend in (
        (lambda: names.update(name=1), lambda: names.update(name=KEY)),
        (names.clear, lambda: names.update(name=KEY)),
        (lambda: setattr(thing, "one", 1), lambda: setattr(thing, "one", KEY)),
        (lambda: delattr(thing, "one"), lambda: setattr(thing, "one", KEY)),
        (outer, lambda: setattr(cell, "cell_contents", held)),
        (lambda: delattr(cell, "cell_contents"), lambda: setattr(cell, "cell_contents", held)),
    ):
        spoil()
        assert launch._over(1)(1) == "slow"
        mend()
        assert launch._over(1)(1) == "done"


def test_another_device(cls):
    launch, target = made(cls, (*WHOLES, *OPTIONS), 24, NAMES, DEFAULTS, 3)
    over = launch._over(1)
    try:
        cls._select(99)
        assert over(1) == "slow" and launch.other.slow == [(1, (1,), {})]
    finally:
        cls._select(-1)
    assert over(1) == "done" and len(target.calls) == 1


def test_a_drivers_function(cls):
    """The launch itself is the driver's; what it refuses goes to the slow path."""
    codes, calls = [0, 1], []
    prototype = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_void_p, *(ctypes.c_uint,) * 7, *(ctypes.c_void_p,) * 3
    )

    def driver(function, gx, gy, gz, bx, by, bz, shared, stream, params, extra):
        words = (ctypes.c_void_p * 5).from_address(extra)
        calls.append(((gx, gy, gz), (bx, by, bz), ctypes.string_at(words[1], 24)))
        return codes[len(calls) - 1]

    function = prototype(driver)
    launch, _ = made(cls, (*WHOLES, *OPTIONS), 24, NAMES, DEFAULTS, 3)
    launch._forget()
    address, failed = ctypes.cast(function, ctypes.c_void_p).value, []
    type(launch)._failed = lambda self, code, args: failed.append(code)
    geometry = (*LIMITS[:3], 128, 2, 1)
    launch._install((*WHOLES, *OPTIONS), 24, address, 7, geometry, 0, 0, 0, 0, None, None, "done")
    assert launch._over((3, 2))(1) == "done"
    assert launch._over(4)(2) == "slow"
    assert calls == [
        ((3, 2, 1), (128, 2, 1), struct.pack("<3q", 1, 5, 7)),
        ((4, 1, 1), (128, 2, 1), struct.pack("<3q", 2, 5, 7)),
    ]
    assert failed == [1]


def test_a_stream_of_each_launch(cls):
    """A function returns it; its errors are the call's, and freeing the profile frees it."""
    streams, handles = [], iter([0, 2**63 + 5, "none", 7])
    prototype = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_void_p, *(ctypes.c_uint,) * 7, *(ctypes.c_void_p,) * 3
    )

    class Next:
        def __call__(self):
            handle = next(handles)
            if handle == "none":
                raise RuntimeError("no stream")
            return handle

    function = prototype(lambda *args: streams.append(args[8]) or 0)
    launch, _ = made(cls, (*WHOLES, *OPTIONS), 24, NAMES, DEFAULTS, 3)
    launch._forget()
    address, reader = ctypes.cast(function, ctypes.c_void_p).value, Next()
    gone, place = weakref.ref(reader), (24, address, 7, LIMITS, 0, 9, 0, 0, None, None, "done")
    launch._install((*WHOLES, *OPTIONS), *place, reader)
    del reader
    assert launch._over(1)(1) == launch._over(1)(1) == "done"
    with pytest.raises(RuntimeError, match="no stream"):
        launch._over(1)(1)
    assert launch._over(1)(1) == "done"
    assert streams == [None, 2**63 + 5, 7]
    launch._forget()
    gc.collect()
    assert gone() is None


def test_what_is_no_launch(cls):
    launch, _ = made(cls, (*WHOLES, *OPTIONS), 24, NAMES, DEFAULTS, 3)
    if cls is launcher.PythonLauncher:
        with pytest.raises(ValueError):
            launch._name(("x",), (1, 2), 1, 1, ABSENT, [])
        return
    for names in ((("x",), (1, 2), 1, 1), (("x", 2), (1, 2), 1, 1), (("x", "y"), (1,), 2, 1)):
        with pytest.raises(ValueError):
            cls()._name(*names, ABSENT, [])
    with pytest.raises(ValueError):  # once
        launch._name(NAMES, DEFAULTS, 3, 3, ABSENT, [])
    for guards in ([], ((1,),), ((1, 2, 3),)):
        with pytest.raises(ValueError):
            launch._guard(guards)
    for matcher in (
        (WHOLE, None, (0, 1), 0, 8),
        (WHOLE, None, (0, 1, 1, 0), 20, 8),
        (OWN, Array, (KEY, 16), 0, 4),
        (HOST, 3, (F4, 1, 16), 0, 8),
        (PARTS, tuple, (None, ((WHOLE, None, (0, 1, 1, 0), 20, 8),)), 0, 0),
        (PARTS, tuple, (("one",), ()), 0, 0),
        (99, None, None, 0, 8),
    ):
        with pytest.raises((ValueError, TypeError)):
            launch._install((matcher,), 24, 0, 0, LIMITS, 0, 0, 0, 0, None, print, None)


def test_nothing_is_kept(cls):
    """What a profile has is freed, though it holds the launcher."""

    def cycle():
        launch, target = made(cls, (*WHOLES, *OPTIONS), 24, NAMES, DEFAULTS, 3)
        target.own = launch._over(lambda named: launch)
        return weakref.ref(target)

    freed = cycle()
    gc.collect()
    assert freed() is None


def test_profiles_take_turns(cls):
    """The latest ones are kept, and each is found wherever it is."""
    launch, target = made(cls, (*WHOLES, *OPTIONS), 24, NAMES, DEFAULTS, 3)
    for number in range(300):
        constant = (CONSTANT, None, number + 100, 0, 0), *WHOLES[1:], *OPTIONS
        launch._install(constant, 24, 0, 0, LIMITS, 0, 0, 0, 0, None, target, number)
    results = [launch._over(1)(number + 100) for number in range(300)]
    kept = launcher.MOST_OVER
    assert results == ["slow"] * (300 - kept) + [*range(300 - kept, 300)]
    for first, second in itertools.pairwise([299, 102, 150, 299]):
        assert launch._over(1)(first + 100) == first and launch._over(1)(second + 100) == second


@pytest.mark.skipif(_native is None, reason="no native launcher")
def test_a_build_of_another_source(monkeypatch):
    assert launcher._chosen() is _native.Launcher
    monkeypatch.setattr(_native, "INTERFACE", launcher.INTERFACE - 1)
    with pytest.warns(RuntimeWarning, match="pip install -e"):
        assert launcher._chosen() is launcher.PythonLauncher


@pytest.fixture
def encoder():
    """A function with the signature of cuTensorMapEncodeTiled, and what it got."""
    seen = []

    def encode(target, kind, rank, address, extents, strides, box, steps, *numbers):
        words = [
            (unit * count).from_address(where)[:]
            for unit, count, where in (
                (ctypes.c_uint64, rank, extents), (ctypes.c_uint64, rank - 1, strides),
                (ctypes.c_uint32, rank, box), (ctypes.c_uint32, rank, steps),
            )
        ]  # fmt: skip
        assert target % 64 == 0
        seen.append((kind, address, *map(tuple, words), *numbers))
        ctypes.memset(target, len(seen), 128)
        return int(address == 4096 * 7)

    return tensor_maps._ENCODE(encode), seen


def test_tensor_maps(cls, encoder):
    """They are encoded again where numbers change; what the encoder refuses takes the slow path."""
    encode, seen = encoder
    launched = []

    offsets = 0, 8, 16, 24, 32, 64

    def launch_kernel(function, *rest):
        assert not rest[-1]  # a packed block
        pointers = (ctypes.c_void_p * len(offsets)).from_address(rest[-2])
        assert [each - pointers[0] for each in pointers] == [*offsets]
        launched.append(ctypes.string_at(pointers[0], 192))
        return 0

    native = launcher._FUNCTION(launch_kernel)
    parts = [(WHOLE, None, (0, 2**62, 1, 0), 8 * n, 8) for n in range(5)]
    launch, _ = made(cls, (), 0, tuple("abcde"), (ABSENT,) * 5, 5)
    launch._forget()
    address = ctypes.cast(native, ctypes.c_void_p).value
    encode_address = ctypes.cast(encode, ctypes.c_void_p).value
    maps = encode_address, ((64, (0, 16, 8, 24), 6, (64, 32), 3, 1),), offsets
    launch._install(
        tuple(parts), 192, address, 5, LIMITS, 0, 0, 0, 0, None, None, "done", None, maps
    )
    over = launch._over((2,))
    for _ in range(3):
        assert over(4096, 11, 14, 64, 2) == "done"
    assert seen == [(6, 4096, (14, 11), (64,), (64, 32), (1, 1), 0, 3, 2, 1)]
    assert launched[-1] == struct.pack("<5Q", 4096, 11, 14, 64, 2) + bytes(24) + b"\1" * 128
    assert over(8192, 11, 14, 64, 2) == "done"
    assert launched[-1][64:] == b"\2" * 128 and seen[-1][1] == 8192
    assert over(4096, 12, 14, 64, 2) == "done" and seen[-1][2] == (14, 12)
    assert over(4096, 12, 14, 80, 2) == "done" and seen[-1][3] == (80,)
    assert over(4096, 12, 14, 80, 4) == "done" and len(seen) == 4
    count = len(launched)
    assert over(4096 * 7, 12, 14, 80, 2) == "slow" and len(launched) == count


@pytest.mark.skipif(_native is None, reason="no C compiler")
@pytest.mark.parametrize(
    "maps",
    [
        7,
        (0,),
        (0, ((65, (0, 8), 6, (64,), 3, 1),), (0,)),
        (0, ((64, (0, 185), 6, (64,), 3, 1),), (0,)),
        (0, ((64, (0, -8), 6, (64,), 3, 1),), (0,)),
        (0, ((64, (0,), 6, (64,), 3, 1),), (0,)),
        (0, ((64, (0,) * 12, 6, (64,) * 6, 3, 1),), (0,)),
        (0, ((64, (0, 8), 6, (-1,), 3, 1),), (0,)),
        (0, ((64, (0, 8), 6, (64,), 3, 1),), (192,)),
        (0, ((64, (0, 8), 6, (64,), 3, 1),), (-1,)),
        (0, ((64, (0, 8), 6, (64,), 3, 1),), (0,) * 513),
    ],
)
def test_what_is_no_tensor_map(maps):
    launch, target = made(_native.Launcher, (), 0, (), (), 0)
    with pytest.raises((ValueError, TypeError)):
        launch._install((), 192, 0, 0, LIMITS, 0, 0, 0, 0, None, target, "done", None, maps)
    assert launch._over(1)() == "done"
