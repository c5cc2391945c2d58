"""Launches that are made again with the bytes that they had, in C and by its twin in Python."""

from __future__ import annotations

import ctypes
import gc
import struct
import sys
import threading
import weakref
from functools import partial

import pytest
from tests.cuda.test_launcher import ARRAY, CLASSES, GEOMETRY, Array, Driver, made

from gridlane.launch import launcher
from gridlane.launch.launcher import FOREIGN, INTEGER
from gridlane.launch.launcher_external_arrays import BY_INTERFACE, LAYOUTS, Wanted
from gridlane.launch.launcher_tiles import OWN, PARTS, WHOLE
from gridlane.launch.parameters import array_layout

KEY = object()


@pytest.fixture(params=CLASSES, ids=lambda cls: cls.__name__)
def cls(request):
    yield request.param
    request.param._note(None)
    request.param._select(-1)


def noted(cls, call):
    """What a call notes."""
    launches: list = []
    before = cls._note(launches)
    try:
        call()
    finally:
        assert cls._note(before) is launches
    return launches


def kernel(cls, driver, **more):
    matchers = (ARRAY, Array, KEY, 0, 24), (INTEGER, None, None, 24, 8)
    return made(cls, driver, matchers, 32, **more)


def array(address=4096):
    return Array(KEY, struct.pack("<3q", address, 5, 4))


def test_a_launch_again(cls):
    driver = Driver()
    launch = kernel(cls, driver)
    (ready,) = noted(cls, lambda: launch(array(), 7))
    assert ready() is True and ready() is True
    first, second, third = driver.calls
    assert first == second == third == (77, GEOMETRY, 128, 99, struct.pack("<4q", 4096, 5, 4, 7))
    assert [*ready.addresses] == [4096]
    (other,) = noted(cls, lambda: launch(array(8192), 3))
    assert ready() and other()
    assert [struct.unpack("<4q", each[4])[::3] for each in driver.calls[-2:]] == [
        (4096, 7),
        (8192, 3),
    ]


def test_on_another_stream(cls):
    driver = Driver()
    launch = kernel(cls, driver)
    (ready,) = noted(cls, lambda: launch(array(), 7))
    assert ready(5) is True and ready(0) is True and ready() is True
    assert [each[3] or 0 for each in driver.calls] == [99, 5, 0, 99]
    assert len({(*each[:3], each[4]) for each in driver.calls}) == 1


def test_a_thread_that_redirects(cls):
    driver = Driver()
    launch, streams = kernel(cls, driver), []
    program = tile(cls, driver, lambda: streams.append(3) or 3)
    (ready,) = noted(cls, lambda: launch(array(), 7))
    (other,) = noted(cls, lambda: program._over(3)(array(), [array()], 7))
    driver.calls.clear()
    streams.clear()
    assert cls._redirect(5) is None
    try:
        assert cls._redirect(0) == 5
        assert launch(array(), 7) is None and program._over(3)(array(), [array()], 7) == "done"
        assert cls._redirect(6) == 0
        assert ready() and other() and other(8)
        elsewhere: list = []
        thread = threading.Thread(target=lambda: elsewhere.append(ready()))
        thread.start()
        thread.join()
    finally:
        cls._redirect(None)
    assert elsewhere == [True] and not streams
    assert ready() and other() and streams == [3]
    assert [each[3] or 0 for each in driver.calls] == [0, 0, 6, 6, 8, 99, 99, 3]


QUERY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int))


def test_streams_that_are_captured(cls):
    """Where the current stream of another library is, each launch is the slow path's; else a tile
    program is on it, and another kernel on its own stream."""
    driver, asked, codes = Driver(), [], {50: (0, 1), 60: (0, 2), 70: (0, 0), 80: (1, 1)}

    @QUERY
    def query(stream, status):
        asked.append(stream)
        code, status[0] = codes[stream]
        return code

    current = [70]
    launch = kernel(cls, driver, streams=lambda: current[0])
    program = tile(cls, driver, lambda: current[0])
    plain, address = kernel(cls, driver), ctypes.cast(query, ctypes.c_void_p).value
    (ready,), (other,) = (
        noted(cls, lambda: launch(array(), 7)),
        noted(cls, lambda: program._over(3)(array(), [array()], 7)),
    )
    try:
        cls._query_captures(address)
        for handle, is_captured in ((0, 0), (2, 0), (50, 1), (60, 1), (70, 0), (80, 0)):
            current[0] = handle
            driver.calls.clear()
            launch.slow.clear()
            assert launch(array(), 7) is None and bool(launch.slow) == bool(is_captured)
            result = program._over(3)(array(), [array()], 7)
            assert result == ("slow" if is_captured else "done")
            assert ready() is not bool(is_captured) and other() is not bool(is_captured)
            assert ready(handle) is not bool(is_captured)
            assert asked.count(handle) == 5 * (handle > 2)
            wanted = [99, handle, 99, handle, handle] if not is_captured else []
            assert [each[3] or 0 for each in driver.calls] == wanted
            asked.clear()
            assert plain(array(), 7) is None and not asked
        cls._query_captures(0)
        current[0] = 50
        assert ready() and not asked
    finally:
        cls._query_captures(0)


def test_what_python_has_a_part_in_is_noted_as_none(cls):
    driver = Driver()
    launch = kernel(cls, driver)
    assert noted(cls, lambda: launch(array(), "text")) == [None] and launch.slow
    driver.code = 700
    assert noted(cls, lambda: launch(array(), 1)) == [None] and launch.failed
    driver.code = 0
    launch._go(lambda *_: None)
    assert noted(cls, lambda: launch(array(), "text")) == [None]

    def many():
        for value in (1, "text", 2):
            launch(array(), value)

    assert [each is None for each in noted(cls, many)] == [False, True, False]
    assert noted(cls, lambda: None) == []


def test_what_has_ended_is_not_launched(cls):
    driver, sound = Driver(), (ctypes.c_ubyte * 1)(1)
    launch = kernel(cls, driver, sound=ctypes.addressof(sound))
    (ready,) = noted(cls, lambda: launch(array(), 7))
    sound[0] = 0
    assert ready() is False
    sound[0] = 1
    assert ready() is True
    cls._select(3)
    assert ready() is False
    cls._select(-1)
    assert noted(cls, lambda: None if ready() is False else pytest.fail("it is noted")) == []
    count = len(driver.calls)
    driver.code = 1
    assert ready() is False and len(driver.calls) == count + 1 and not launch.failed
    driver.code = 0
    launch._forget()
    assert ready() is False and len(driver.calls) == count + 1


def test_a_profile_that_others_replaced(cls):
    driver = Driver()
    launch = kernel(cls, driver)
    (ready,) = noted(cls, lambda: launch(array(), 7))
    for n in range(launcher.MOST_PROFILES):
        matcher = (ARRAY, Array, object(), 0, 24), (INTEGER, None, None, 24, 8)
        assert ready() is True, n
        launch._install(matcher, 32, driver.address, 77, GEOMETRY, 128, 99, 0, 0, None)
    assert ready() is False


def test_it_keeps_no_argument_and_what_it_needs(cls):
    driver = Driver()

    class Kept:
        pass

    keep = Kept()
    alive, launch = weakref.ref(keep), kernel(cls, driver, keep=keep)
    given = array()
    argument = weakref.ref(given)
    (ready,) = noted(cls, partial(launch, given, 7))
    del keep, launch, given
    gc.collect()
    assert argument() is None and alive() is not None and ready() is True
    del ready
    gc.collect()
    assert alive() is None


def test_a_cycle_through_a_launch_is_collected(cls):
    driver = Driver()

    class Kept:
        pass

    keep = Kept()
    alive, launch = weakref.ref(keep), kernel(cls, driver, keep=keep)
    (keep.ready,) = noted(cls, partial(launch, array(), 7))
    launch.keep = keep
    del keep, launch
    gc.collect()
    assert alive() is None


def test_no_references_are_left(cls):
    driver = Driver()
    launch, given = kernel(cls, driver), array()
    (ready,) = noted(cls, lambda: launch(given, 7))
    before = sys.getrefcount(launch), sys.getrefcount(given), sys.getrefcount(ready)
    for _ in range(50):
        ready()
        driver.calls.clear()
    assert (sys.getrefcount(launch), sys.getrefcount(given), sys.getrefcount(ready)) == before
    for _ in range(50):
        noted(cls, lambda: launch(given, 7))
    gc.collect()
    assert sys.getrefcount(launch) == before[0]


def test_wrong_calls(cls):
    launch = kernel(cls, Driver())
    (ready,) = noted(cls, lambda: launch(array(), 7))
    for wrong in ((1, 2), ("1",), (None,)):
        with pytest.raises(TypeError):
            ready(*wrong)
    if cls is not launcher.PythonLauncher:
        with pytest.raises(ValueError, match="list"):
            cls._note(3)


def test_addresses_of_other_arrays(cls):
    places = array_layout(1).places
    attribute = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_ulonglong)(
        lambda value, number, pointer: [setattr_at(value, pointer), 0][1]
    )
    address = ctypes.cast(attribute, ctypes.c_void_p).value
    want = Wanted(BY_INTERFACE, "<f4", 1, LAYOUTS.index("C"), 4, 0, 2**31 - 1, address, 99, places)

    class Theirs:
        __cuda_array_interface__ = dict(shape=(5,), typestr="<f4", data=(8192, False), version=3)

    matchers = (INTEGER, None, None, 24, 8), (FOREIGN, Theirs, want, 0, 24)
    launch = made(cls, Driver(), matchers, 32)
    (ready,) = noted(cls, lambda: launch(4096, Theirs()))
    assert [*ready.addresses] == [8192]


def setattr_at(place, value):
    ctypes.c_uint64.from_address(place).value = value


# --- tile programs


def tile(cls, driver, streams=None):
    """A launcher of a program of two arrays, of which one is in a list, and a number."""

    class Mine(cls):
        def __init__(self):
            super().__init__()
            self.slow, self.failed = [], []

        def _launch_over(self, grid, args, keywords):
            self.slow.append(args)
            return "slow"

        def _failed(self, code, args):
            self.failed.append(code)

    launch = Mine()
    launch.hooks = []
    launch._name(("x", "more", "n"), (None,) * 3, 3, 3, object(), launch.hooks)
    inner = PARTS, list, (None, ((OWN, Array, (KEY, 16), 8, 8),)), 0, 0
    matchers = (OWN, Array, (KEY, 16), 0, 8), inner, (WHOLE, None, (0, 99, 1, 0), 16, 8)
    limits = 100, 10, 10, 7, 8, 9
    place = driver.address, 77, limits, 5, 99, 0, 0
    launch._install(matchers, 24, *place, None, None, "done", streams, None)
    return launch


def test_a_tile_program_again(cls):
    driver, handles = Driver(), iter(range(1, 99))
    launch = tile(cls, driver, lambda: next(handles))
    (ready,) = noted(cls, lambda: launch._over((3, 2))(array(), [array(8192)], 7))
    assert ready() and [*ready.addresses] == [4096, 8192]
    one, other = driver.calls
    assert one == (77, (3, 2, 1, 7, 8, 9), 5, 1, struct.pack("<3q", 4096, 8192, 7))
    assert other == (*one[:3], 2, one[4])
    launch.hooks.append(print)
    assert ready() is False
    launch.hooks.clear()
    names = {"name": KEY}
    launch._guard(((names, "name", KEY),))
    assert ready() is True
    names["name"] = 3
    assert ready() is False
    names["name"] = KEY
    assert noted(cls, lambda: launch._over(3)(array(), [], 7)) == [None] and launch.slow
    assert noted(cls, lambda: launch._over(0)(array(), [array()], 7)) == []
    launch._forget()
    assert ready() is False and len(driver.calls) == 3


def test_the_function_of_the_stream_may_end_it(cls):
    driver = Driver()
    ended: list = []

    def ending():
        if ended:
            launch._forget()
            ended.append(2)
        return 3

    launch = tile(cls, driver, ending)
    (ready,) = noted(cls, lambda: launch._over(3)(array(), [array()], 7))
    ended.append(1)
    assert ready() is False and ended == [1, 2]

    def failing():
        raise RuntimeError("no stream")

    launch = tile(cls, driver, lambda: failing() if fails else 3)
    fails: list = []
    (ready,) = noted(cls, lambda: launch._over(3)(array(), [array()], 7))
    fails.append(1)
    with pytest.raises(RuntimeError, match="no stream"):
        ready()


def test_a_target_of_python_is_noted_as_none(cls):
    driver = Driver()
    launch = tile(cls, driver)
    launch._forget()
    matchers = (OWN, Array, (KEY, 16), 0, 8), *[(WHOLE, None, (0, 99, 1, 0), 8, 8)] * 2
    place = 0, 0, (100, 10, 10, 1, 1, 1), 0, 0, 0, 0
    launch._install(matchers, 16, *place, None, lambda *_: None, "done")
    assert noted(cls, lambda: launch._over(3)(array(), 1, 7)) == [None] and not launch.slow
