"""Names around a program that change after it was compiled."""

from __future__ import annotations

import types

import numpy as np
import pytest

from gridlane import tiles
from gridlane.tiles import language as tl

SIZE = tl.constexpr(4)
OTHER = tl.constexpr(2)
KIND = tl.float32
NAMES = tl.constexpr((1, 2))
TABLE = {"a": 3}
settings = types.ModuleType("settings")
settings.scale = tl.constexpr(10)


@tiles.jit
def helper(x):
    return x + OTHER


@tiles.constexpr_function
def looked_up(name):
    return TABLE[name]


@tiles.jit
def kernel(out, WHICH: tl.constexpr = 0):
    if WHICH == 0:
        tl.store(out, helper(SIZE))
    elif WHICH == 1:
        tl.store(out, tl.full((1,), 1, KIND).dtype.primitive_bitwidth)
    elif WHICH == 2:
        tl.store(out, NAMES[0] + settings.scale)
    else:
        tl.store(out, looked_up("a"))


def fresh():
    return tiles.jit(kernel.fn)


def launched(program, which=0):
    out = np.zeros(1, np.int32)
    program[(1,)](out, WHICH=which)
    return int(out[0])


@pytest.mark.parametrize(
    ("name", "which", "value", "before"),
    [
        ("SIZE", 0, tl.constexpr(5), 6),
        ("SIZE", 0, tl.constexpr(4.0), 6),
        ("OTHER", 0, tl.constexpr(3), 6),
        ("KIND", 1, tl.float16, 32),
        ("NAMES", 2, tl.constexpr((2, 2)), 11),
        ("SIZE", 3, tl.constexpr(5), 3),  # it is compiled for all of its names
    ],
)
def test_constants_that_change(monkeypatch, name, which, value, before):
    """Of the program and of functions that it calls: Triton's error, before and behind native
    launches."""
    for calls in (1, 3):
        program = fresh()
        for _ in range(calls):
            assert launched(program, which) == before
        with monkeypatch.context() as patch:
            patch.setitem(globals(), name, value)
            for _ in range(2):
                with pytest.raises(RuntimeError, match=f"Global variable {name} has changed"):
                    launched(program, which)
        assert launched(program, which) == before


def test_the_values_are_named(monkeypatch):
    program = fresh()
    launched(program)
    monkeypatch.setitem(globals(), "SIZE", tl.constexpr(5))
    with pytest.raises(RuntimeError, match=r"from constexpr\[4\] to constexpr\[5\]"):
        launched(program)


def test_a_constants_value_that_changes(monkeypatch):
    program = fresh()
    for _ in range(2):
        assert launched(program) == 6
    monkeypatch.setattr(SIZE, "value", 7)
    with pytest.raises(RuntimeError, match=r"SIZE .* from constexpr\[4\] to constexpr\[7\]"):
        launched(program)


def test_a_modules_constant(monkeypatch):
    program = fresh()
    for _ in range(2):
        assert launched(program, 2) == 11
    monkeypatch.setattr(settings, "scale", tl.constexpr(20))
    with pytest.raises(RuntimeError, match="scale has changed"):
        launched(program, 2)


def test_what_functions_at_compile_time_read(monkeypatch):
    program = fresh()
    for _ in range(2):
        assert launched(program, 3) == 3
    monkeypatch.setitem(TABLE, "a", 4)
    with pytest.raises(RuntimeError, match="TABLE has changed"):
        launched(program, 3)


class Sizes:
    small = 5


SIZES = Sizes()


def test_an_object_without_an_encoding():
    """It is not in the disk cache, and is the same program as long as it is the same object."""

    @tiles.constexpr_function
    def small():
        return SIZES.small

    @tiles.jit
    def program(out):
        tl.store(out, small())

    out = np.zeros(1, np.int32)
    for _ in range(3):
        kernel = program[(1,)](out)
        assert out[0] == 5 and len(kernel.hash) == 64


def test_equal_constants(monkeypatch):
    program = fresh()
    launched(program)
    monkeypatch.setitem(globals(), "SIZE", tl.constexpr(4))
    for _ in range(3):
        assert launched(program) == 6


def test_functions_that_change(monkeypatch):
    """The program is compiled again, with the other one."""
    program = fresh()
    for _ in range(2):
        assert launched(program) == 6

    @tiles.jit
    def other(x):
        return x * 100

    monkeypatch.setitem(globals(), "helper", other)
    for _ in range(2):
        assert launched(program) == 400
    monkeypatch.undo()
    assert launched(program) == 6


def test_functions_as_arguments(monkeypatch):
    @tiles.jit
    def applied(out, function: tl.constexpr):
        tl.store(out, function(1))

    out = np.zeros(1, np.int32)
    for _ in range(2):
        applied[(1,)](out, helper)
        assert out[0] == 3
    monkeypatch.setitem(globals(), "OTHER", tl.constexpr(9))
    with pytest.raises(RuntimeError, match="OTHER has changed"):
        applied[(1,)](out, helper)


def test_closures():
    width = tl.constexpr(3)

    @tiles.jit
    def closed(out):
        tl.store(out, width)

    out = np.zeros(1, np.int32)
    for _ in range(2):
        closed[(1,)](out)
    width = tl.constexpr(4)
    with pytest.raises(RuntimeError, match="width has changed"):
        closed[(1,)](out)


def test_names_that_no_program_reads(monkeypatch):
    program = fresh()
    for _ in range(2):
        launched(program)
    monkeypatch.setitem(globals(), "launched_before", tl.constexpr(1))
    monkeypatch.setitem(globals(), "settings", settings)
    assert launched(program) == 6


def test_a_global_that_is_local_later(monkeypatch):
    """It is read before, or where a branch that binds it is not taken."""

    @tiles.jit
    def program(out, BINDS: tl.constexpr):
        value = OTHER  # noqa: F823
        if BINDS:
            SIZE = 9
        tl.store(out, value + SIZE)
        OTHER = 1

    out = np.zeros(1, np.int32)
    for _ in range(2):
        program[(1,)](out, BINDS=False)
        assert out[0] == 6
        program[(1,)](out, BINDS=True)
        assert out[0] == 11
    before = program.cache_key
    for name in ("SIZE", "OTHER"):
        with monkeypatch.context() as patch:
            patch.setitem(globals(), name, tl.constexpr(7))
            assert program.cache_key != before
            with pytest.raises(RuntimeError, match=f"{name} has changed"):
                program[(1,)](out, BINDS=False)
    assert program.cache_key == before


def test_texts_that_are_exchanged():
    """Of a function that a program calls, and of one that is its argument."""

    @tiles.jit
    def one():
        return 1

    @tiles.jit
    def calling(out, function: tl.constexpr):
        tl.store(out, one() + function())

    out = np.zeros(1, np.int32)
    for text, wanted in ((one.src, 2), (one.src.replace("1", "5"), 10), (one.src, 2)):
        one._unsafe_update_src(text)
        for _ in range(3):
            calling[(1,)](out, one)
            assert out[0] == wanted


def test_what_is_told_of_globals():
    program = fresh()
    assert not program.used_global_vals
    launched(program)
    named = {
        name: value.value
        for (name, _), (value, _) in program.used_global_vals.items()
        if isinstance(value, tl.constexpr)
    }
    assert named == {"SIZE": 4, "OTHER": 2, "NAMES": (1, 2), "scale": 10}
