"""The native launch path and its twin in Python do the same; launches go to a function of ours."""

from __future__ import annotations

import ctypes
import gc
import struct
import sys
import threading
import weakref

import numpy as np
import pytest

from gridlane import cuda
from gridlane.launch import launcher
from gridlane.launch.launcher import ARRAY, BOOLEAN, INTEGER, NOTHING, NUMBER, REAL

try:
    from gridlane.launch import _native
except ImportError:  # no C compiler where this was installed
    _native = None

CLASSES = [launcher.PythonLauncher] + ([_native.Launcher] if _native else [])
GEOMETRY = (4, 5, 6, 7, 8, 9)


class Driver:
    """Stands for cuLaunchKernel: writes down what it gets."""

    def __init__(self, code=0):
        self.calls, self.code, self.hook = [], code, lambda: None
        prototype = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.c_void_p, *(ctypes.c_uint,) * 7, *(ctypes.c_void_p,) * 3
        )
        self.function = prototype(self.launch)
        self.address = ctypes.cast(self.function, ctypes.c_void_p).value

    def launch(self, function, gx, gy, gz, bx, by, bz, shared, stream, params, extra):
        block = b""
        if extra:
            words = (ctypes.c_void_p * 5).from_address(extra)
            assert (words[0], words[2], words[4]) == (1, 2, None) and params is None
            size = ctypes.c_size_t.from_address(words[3]).value
            block = ctypes.string_at(words[1], size)
        self.calls.append((function, (gx, gy, gz, bx, by, bz), shared, stream, block))
        self.hook()
        return self.code


def made(cls, driver, matchers, size, flag=0, sound=0, keep=None, streams=None):
    """A launcher with one profile; ``slow``, ``failed`` and ``named`` collect what does not go
    to it."""

    class Mine(cls):
        def __init__(self):
            super().__init__()
            self.slow, self.failed, self.named = [], [], []

        def _launch_slowly(self, args):
            self.slow.append(args)

        def _launch_by_name(self, args, keywords):
            self.named.append((args, keywords))

        def _failed(self, code, args):
            self.failed.append((code, args))

    launch = Mine()
    place = driver.address, 77, GEOMETRY, 128, 99, flag, sound
    launch._install(matchers, size, *place, keep, None, None, streams)
    return launch


@pytest.fixture(params=CLASSES, ids=lambda cls: cls.__name__)
def cls(request):
    return request.param


class Array:
    def __init__(self, key, octets):
        self.__gridlane_launch__ = key, octets


def test_all_kinds_of_arguments(cls):
    driver, key, flag = Driver(), object(), (ctypes.c_ubyte * 1)()
    matchers = (
        (ARRAY, Array, key, 0, 24),
        (INTEGER, None, None, 24, 8),
        (INTEGER, None, None, 32, 2),
        (REAL, None, None, 40, 8),
        (REAL, None, None, 48, 4),
        (BOOLEAN, None, None, 52, 1),
        (NOTHING, None, None, 0, 0),
        (NUMBER, np.float16, None, 54, 2),
    )
    launch = made(cls, driver, matchers, 56, ctypes.addressof(flag))
    octets = bytes(range(24))
    assert launch(Array(key, octets), -5, 70000, 1.5, 1e300, True, None, np.float16(2)) is None
    ((function, geometry, shared, stream, block),) = driver.calls
    assert (function, geometry, shared, stream) == (77, GEOMETRY, 128, 99)
    assert block[:24] == octets and flag[0] == 1 and not launch.slow
    wide, narrow = struct.unpack_from("<qH", block, 24)
    assert (wide, narrow) == (-5, 70000 % 65536)
    assert struct.unpack_from("<df?", block, 40) == (1.5, float("inf"), True)
    assert block[54:56] == np.float16(2).tobytes()


@pytest.mark.parametrize(
    "matcher, good, bad",
    [
        ((INTEGER, None, None, 0, 8), 3, [True, 2**63, -(2**63) - 1, 1.0, np.int64(3), None]),
        ((INTEGER, None, 100, 0, 8), -100, [101, -101, 2**62, True]),
        ((NUMBER, np.int64, 100, 0, 8), np.int64(100), [np.int64(101), np.int64(-101), 100]),
        ((REAL, None, None, 0, 8), 3.0, [3, np.float64(3), True, "3"]),
        ((BOOLEAN, None, None, 0, 1), True, [1, np.bool_(True), None]),
        ((NOTHING, None, None, 0, 0), None, [0, False]),
        ((NUMBER, np.int32, None, 0, 4), np.int32(3), [3, np.int64(3), np.uint32(3)]),
    ],
)
def test_what_does_not_fit_goes_the_slow_way(cls, matcher, good, bad):
    driver = Driver()
    launch = made(cls, driver, (matcher,), 8)
    launch(good)
    assert len(driver.calls) == 1
    for value in bad:
        launch(value)
    assert len(driver.calls) == 1 and launch.slow == [(value,) for value in bad]


def test_subclasses_of_numbers_go_the_slow_way(cls):
    class Int(int):
        pass

    driver = Driver()
    launch = made(cls, driver, ((INTEGER, None, None, 0, 8),), 8)
    launch(Int(3))
    assert not driver.calls and launch.slow == [(3,)]


def test_arrays_of_other_types_go_the_slow_way(cls):
    driver, key = Driver(), object()
    launch = made(cls, driver, ((ARRAY, Array, key, 0, 8),), 8)

    class Other(Array):
        pass

    strange = (Array(object(), b"12345678"), Array(key, b"1234"), Other(key, b"12345678"))
    for value in strange:
        launch(value)
    assert not driver.calls and len(launch.slow) == 3
    launch(Array(key, b"12345678"))
    assert driver.calls[0][-1] == b"12345678"


@pytest.mark.parametrize("args", [(), (1, 2)])
def test_the_number_of_arguments(cls, args):
    driver = Driver()
    launch = made(cls, driver, ((INTEGER, None, None, 0, 8),), 8)
    launch(*args)
    assert launch.slow == [args] and not driver.calls


def test_keywords_go_to_a_method_of_their_own(cls):
    launch = made(cls, Driver(), ((INTEGER, None, None, 0, 8),), 8)
    launch(1, x=2)
    launch(1)
    assert launch.named == [((1,), {"x": 2})] and not launch.slow


def test_a_refusal_of_the_driver(cls):
    launch = made(cls, Driver(701), ((INTEGER, None, None, 0, 8),), 8)
    launch(3)
    assert launch.failed == [(701, (3,))]


def test_a_profile_that_is_no_longer_sound_goes_the_slow_way(cls):
    driver, sound = Driver(), (ctypes.c_ubyte * 1)(1)
    matchers = ((INTEGER, None, None, 0, 8),)
    launch = made(cls, driver, matchers, 8, sound=ctypes.addressof(sound))
    launch(3)
    sound[0] = 0
    launch(4)
    assert len(driver.calls) == 1 and launch.slow == [(4,)]


def test_no_parameters(cls):
    driver = Driver()
    made(cls, driver, (), 0)()
    assert driver.calls == [(77, GEOMETRY, 128, 99, b"")]


def test_a_launcher_is_for_threads_of_the_same_device(cls):
    driver, there, made_there = Driver(), [], []
    launch = made(cls, driver, ((INTEGER, None, None, 0, 8),), 8)

    def elsewhere(self):
        made_there.append(self)
        return lambda *args: there.append(args)

    type(launch)._elsewhere = elsewhere
    launch(1)
    cls._select(1)
    try:
        launch(2)
        launch(5, 6)
        assert len(driver.calls) == 1 and not launch.slow
        assert there == [(2,), (5, 6)] and made_there == [launch]
        thread = threading.Thread(target=launch, args=(3,))
        thread.start()
        thread.join()
    finally:
        cls._select(-1)
    launch(4)
    assert [struct.unpack("<q", call[4])[0] for call in driver.calls] == [1, 3, 4]


def test_what_fails_elsewhere_is_asked_again(cls):
    driver = Driver()
    launch = made(cls, driver, (), 0)

    def fails(self):
        raise OSError("no such device")

    type(launch)._elsewhere = fails
    cls._select(1)
    try:
        for _ in range(2):
            with pytest.raises(OSError, match="no such"):
                launch()
    finally:
        cls._select(-1)
    launch()


def test_the_hot_function_gets_what_no_profile_fits(cls):
    driver, seen = Driver(), []
    launch = made(cls, driver, ((INTEGER, None, None, 0, 8),), 8)
    launch._go(lambda own, args: seen.append((own, args)))
    launch(1)
    launch("x", 2)
    launch()
    assert len(driver.calls) == 1 and not launch.slow
    assert seen == [(launch, ("x", 2)), (launch, ())]
    launch._go(lambda own, args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        launch("x")


def test_a_launcher_in_a_cycle_is_collected(cls):
    driver = Driver()
    launch = made(cls, driver, (), 0)
    launch._go(lambda own, args, cycle=launch: None)
    gone = weakref.ref(launch)
    del launch
    gc.collect()
    assert gone() is None


def test_profiles_are_found_whatever_their_number(cls):
    driver = Driver()
    launch = made(cls, driver, ((INTEGER, None, None, 0, 8),), 8)
    for size in range(2, launcher.MOST_PROFILES + 1):
        matchers = tuple((INTEGER, None, None, 8 * n, 8) for n in range(size))
        launch._install(matchers, 8 * size, driver.address, size, GEOMETRY, 0, 0, 0, 0, None)
    for size in (1, 3, launcher.MOST_PROFILES, 1):
        launch(*range(size))
        assert driver.calls[-1][0] == (77 if size == 1 else size)
        assert len(driver.calls[-1][-1]) == 8 * size
    # The ninth drops the last.
    launch._install((), 0, driver.address, 0, GEOMETRY, 0, 0, 0, 0, None)
    launch(1, 2)
    assert launch.slow == [(1, 2)]
    launch._forget()
    launch(1)
    assert launch.slow[-1] == (1,)


def test_what_a_profile_keeps(cls):
    class Kept:
        pass

    kept = Kept()
    alive = weakref.ref(kept)
    launch = made(cls, Driver(), (), 0, keep=kept)
    del kept
    gc.collect()
    assert alive() is not None
    del launch
    gc.collect()
    assert alive() is None


def test_a_cycle_is_collected(cls):
    class Kept:
        pass

    kept = Kept()
    launch = made(cls, Driver(), (), 0, keep=kept)
    kept.launch = launch
    alive = weakref.ref(kept)
    del kept, launch
    gc.collect()
    assert alive() is None


def test_profiles_dropped_during_a_call(cls):
    driver = Driver()
    launch = made(cls, driver, ((INTEGER, None, None, 0, 8),), 8)
    driver.hook = launch._forget
    launch(3)
    assert len(driver.calls) == 1
    launch(3)
    assert launch.slow == [(3,)]


def test_an_argument_that_changes_the_profiles(cls):
    driver, key = Driver(), object()

    class Sly:
        @property
        def __gridlane_launch__(self):
            launch._forget()
            return key, b"12345678"

    launch = made(cls, driver, ((ARRAY, Sly, key, 0, 8),), 8)
    launch(Sly())
    assert driver.calls[0][-1] == b"12345678"


def test_an_argument_that_raises(cls):
    class Broken:
        @property
        def __gridlane_launch__(self):
            raise KeyError("broken")

    launch = made(cls, Driver(), ((ARRAY, Broken, None, 0, 8),), 8)
    with pytest.raises(KeyError, match="broken"):
        launch(Broken())


def test_a_launch_within_a_launch(cls):
    driver = Driver()
    launch = made(cls, driver, ((INTEGER, None, None, 0, 8),), 8)

    def again():
        driver.hook = lambda: None
        launch(4)

    driver.hook = again
    launch(3)
    assert [struct.unpack("<q", call[-1])[0] for call in driver.calls] == [3, 4]


def test_calls_leave_no_references(cls):
    driver, key = Driver(), object()
    launch = made(cls, driver, ((ARRAY, Array, key, 0, 8), (INTEGER, None, None, 8, 8)), 16)
    array, number = Array(key, b"12345678"), 10**12
    launch(array, number)
    before = [
        sys.getrefcount(x) for x in (key, array, number, launch, array.__gridlane_launch__[1])
    ]
    for _ in range(1000):
        launch(array, number)
    driver.calls.clear()
    assert [
        sys.getrefcount(x) for x in (key, array, number, launch, array.__gridlane_launch__[1])
    ] == before


@pytest.mark.skipif(_native is None, reason="the extension was not built")
@pytest.mark.parametrize(
    "matcher",
    [(9, None, None, 0, 8), (INTEGER, None, None, 4, 8), (INTEGER, None, None, 0, 16), (), None]
    + [(ARRAY, None, None, 0, 8), (INTEGER, None, None, -8, 8), (NUMBER, 3, None, 0, 8)],
)
def test_the_native_class_checks_profiles(matcher):
    launch = _native.Launcher()
    with pytest.raises((ValueError, TypeError, SystemError)):
        launch._install((matcher,), 8, 1, 0, GEOMETRY, 0, 0, 0, 0, None)
    with pytest.raises(ValueError):
        launch._install((), 5000, 1, 0, GEOMETRY, 0, 0, 0, 0, None)
    with pytest.raises(ValueError):
        launch._install((), 0, 0, 0, GEOMETRY, 0, 0, 0, 0, None)


def test_device_arrays_carry_what_a_launch_reads():
    array = cuda.to_device(np.zeros((3, 4), np.float32))
    key, packed = array.__gridlane_launch__
    assert key is array._key and struct.unpack("<5q", packed) == (array.address, 3, 4, 16, 4)
    assert array[1:].__gridlane_launch__[1] == array[1:].__gridlane_packed__


# ---- launches that a thread delays


NUMBERS = (8, 4, 20, 4)
"""Offsets and sizes of what is passed on beside the key."""


@pytest.fixture
def delaying(cls):
    """A launcher that appends, the lists of this thread, and what it submits."""
    key = object()
    matchers = (
        (ARRAY, Array, key, 0, 8),
        (REAL, None, None, 8, 4),
        (INTEGER, None, None, 12, 8),
        (NUMBER, np.float32, None, 20, 4),
    )
    launch = made(cls, Driver(), (), 0)
    launch._forget()
    launch._install(matchers, 24, 0, 0, (0,) * 6, 0, 0, 0, 0, None, "form", NUMBERS)
    array, calls = Array(key, b"abcdefgh"), []
    packed = array.__gridlane_launch__[1]
    lists = [], [], [], {packed: packed}, 3, lambda: calls.append(len(lists[2]))
    cls._record(lists)
    yield launch, array, lists, calls
    cls._record(None)


def test_launches_are_appended(delaying):
    launch, array, (keys, numbers, launches, *_), calls = delaying
    first = array, 1.5, 7, np.float32(2.5)
    launch(*first)
    launch(array, -1.0, -7, np.float32(0))
    block = b"abcdefgh" + bytes(4) + (7).to_bytes(8, "little") + bytes(4)
    assert keys[:2] == ["form", block] and keys[2] == "form" and keys[3] != block
    assert [np.frombuffer(each, np.float32)[0] for each in numbers] == [1.5, 2.5, -1.0, 0.0]
    assert launches[0] == first and len(launches) == 2
    assert not calls and not launch.slow


def test_appended_launches_are_submitted_at_the_most(delaying):
    launch, array, _, calls = delaying
    for n in range(3):
        launch(array, 1.0, n, np.float32(1))
    assert calls == [3]


def test_what_is_not_appended_is_launched_slowly(cls, delaying):
    launch, array, (keys, numbers, launches, own, *_), _ = delaying
    other = Array(array.__gridlane_launch__[0], bytes(bytearray(b"abcdefgh")))  # equal, not known
    launch(other, 1.0, 7, np.float32(1))
    own.clear()
    launch(array, 1.0, 7, np.float32(1))
    cls._record(None)
    launch(array, 1.0, 7, np.float32(1))
    assert len(launch.slow) == 3 and not keys and not numbers and not launches


@pytest.mark.parametrize("cls", CLASSES[1:], indirect=True)
def test_a_place_outside_of_the_block_is_refused(cls, delaying):
    launch, _, (keys, numbers, launches, *_), _ = delaying
    launch._forget()
    matchers = ((INTEGER, None, None, 0, 8),)
    launch._install(matchers, 8, 0, 0, (0,) * 6, 0, 0, 0, 0, None, "form", (0, 8, 4, 8))
    with pytest.raises(ValueError, match="not the place of a number"):
        launch(1)
    assert not keys and not numbers and not launches


@pytest.mark.parametrize("cls", CLASSES[1:], indirect=True)
@pytest.mark.parametrize("lists", [(), ([], [], [], {}, 1), ([], [], (), {}, 1, len), 5])
def test_lists_that_are_none_are_refused(cls, lists):
    with pytest.raises(ValueError, match="not the lists"):
        cls._record(lists)
