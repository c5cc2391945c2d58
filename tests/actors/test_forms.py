"""The bytes of messages of scalars, beside Python's struct; and the arguments of a call."""

from __future__ import annotations

import inspect
import math
import struct
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridlane import actors
from gridlane.actors._engine import Form
from gridlane.cuda import float32, int16, int32, int64, uint8

CODES = "?bBhHiIqQefd"


class Held:
    value: Any


def form_of(code: str, offset: int = 0, size: int | None = None) -> Form:
    size = struct.calcsize("<" + code) if size is None else size
    return Form(Held, (("value", code, offset, "some type"),), size, True)


def held(value: Any) -> Held:
    made = Held()
    made.value = value
    return made


class Index:
    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


numbers = st.one_of(
    st.integers(-(2**65), 2**65),
    st.integers(-300, 300),
    st.sampled_from(
        [k * 2**n + d for n in (7, 8, 15, 16, 31, 32, 63, 64) for k in (1, -1) for d in (-1, 0, 1)]
    ),
    st.floats(),
    st.floats(width=32),
    st.floats(width=16),
    st.booleans(),
    st.integers(-(2**40), 2**40).map(Index),
    st.integers(-(2**31), 2**31 - 1).map(np.int32),
    st.floats(width=32).map(np.float32),
    st.sampled_from([None, "1", b"1", 1j, [], [0], Fraction(1, 3), 10**400]),
)


@pytest.mark.parametrize("code", CODES)
@given(value=numbers)
def test_packs_as_struct(code: str, value: Any) -> None:
    form = form_of(code)
    try:
        wanted = struct.pack("<" + code, value)
    except (struct.error, OverflowError):
        with pytest.raises(TypeError, match=r"Held\.value is a some type, which .* does not fit"):
            form.pack(held(value))
        return
    assert form.pack(held(value)) == wanted


@pytest.mark.parametrize("code", CODES)
@given(data=st.data())
def test_unpacks_as_struct(code: str, data: Any) -> None:
    width = struct.calcsize("<" + code)
    given = data.draw(st.binary(min_size=width, max_size=width))
    (wanted,) = struct.unpack("<" + code, given)
    found = form_of(code).unpack(given).value
    assert type(found) is type(wanted)
    assert found == wanted or (math.isnan(found) and math.isnan(wanted))
    if wanted == wanted:
        assert math.copysign(1, found) == math.copysign(1, wanted)


@given(st.integers(-128, 127), st.integers(-(2**63), 2**63 - 1), st.floats(width=32))
def test_offsets_and_padding(small: int, large: int, number: float) -> None:
    class Three:
        pass

    fields = (("a", "b", 0, "int8"), ("b", "q", 8, "int64"), ("c", "f", 16, "float32"))
    form = Form(Three, fields, 24, True)
    made = Three()
    made.a, made.b, made.c = small, large, number  # type: ignore[attr-defined]
    found = form.pack(made)
    assert found == struct.pack("<bxxxxxxxqfxxxx", small, large, number)
    assert form.pack(form.unpack(found)) == found


@pytest.mark.parametrize(
    ("fields", "size"),
    [
        ((("a", "x", 0, "t"),), 8),
        ((("a", "q", 1, "t"),), 8),
        ((("a", "q", -1, "t"),), 8),
        ((("a", "\0", 0, "t"),), 8),
        ((("a", "é", 0, "t"),), 8),
        ((("a", "f", 2**62, "t"),), 8),
    ],
)
def test_fields_that_do_not_fit_a_form(fields: Any, size: int) -> None:
    with pytest.raises(ValueError, match="no field of a message"):
        Form(Held, fields, size, True)


@pytest.mark.parametrize("data", [b"", b"123", b"12345"])
def test_bytes_of_another_size(data: bytes) -> None:
    with pytest.raises(ValueError, match="4 bytes"):
        form_of("i").unpack(data)


def test_errors_of_the_value_itself_are_not_hidden() -> None:
    class Odd:
        @property
        def value(self) -> int:
            raise KeyError("mine")

    class Never:
        def __index__(self) -> int:
            raise ZeroDivisionError

    class Wrong:
        def __index__(self) -> int:
            raise TypeError("its own")

    with pytest.raises(KeyError, match="mine"):
        form_of("i").pack(Odd())
    with pytest.raises(TypeError, match="some type") as caught:
        form_of("i").pack(held(Wrong()))
    assert "its own" in str(caught.value.__cause__)
    with pytest.raises(TypeError, match="some type") as caught:
        form_of("i").pack(held("x" * 10**6))
    assert len(str(caught.value)) < 300 and caught.value.__cause__ is None
    with pytest.raises(TypeError, match="which this int does not fit"):
        form_of("i").pack(held(10**5000))  # has too many digits for repr
    with pytest.raises(AttributeError, match="value"):
        form_of("i").pack(object())
    with pytest.raises(ZeroDivisionError):
        form_of("i").pack(held(Never()))


@actors.message
class Order:
    price: float32
    size: int32 = 1


@actors.message
class Checked:
    size: int64

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError(f"a size of {self.size}")


@actors.message
class Large:
    first: int16
    values: actors.array(uint8, 2000)


@actors.state
class Book:
    seen: int64


@actors.kernel(state=Book, replies=Checked)
def book(ctx, state, order: Order):
    state.seen += 1
    ctx.reply(Checked(order.size))


@actors.kernel(state=Book, replies=Large)
def echo(ctx, state, large: Large):
    ctx.reply(large)


@pytest.fixture(scope="module")
def runtime():
    with actors.Runtime(device="cpu") as made:
        yield made


@pytest.fixture(scope="module")
def ref(runtime):
    made = runtime.launch(book, name="book")
    made.activate()
    return made


def test_arguments_by_place_and_by_name(ref) -> None:
    order = Order(1.0, 3)
    for found in (
        ref.call(order),
        ref.call(message=order),
        ref.call(order, 60),
        ref.call(order, 60.0, 0),
        ref.call(order, None, None),
        ref.call(order, spin=1e-3, timeout=60.0),
        ref.call(timeout=60.0, message=order),
    ):
        assert found == Checked(3)


@pytest.mark.parametrize(
    ("args", "named", "error"),
    [
        ((), {}, "missing 1 required positional argument: 'message'"),
        ((), {"timeout": 1.0}, "missing 1 required positional argument: 'message'"),
        ((1, 2, 3, 4), {}, "not 4 arguments"),
        ((Order(1.0),), {"messages": 1}, "unexpected keyword argument 'messages'"),
        ((Order(1.0),), {"message": Order(1.0)}, "multiple values for argument 'message'"),
        ((Order(1.0), 1.0), {"timeout": 1.0}, "multiple values for argument 'timeout'"),
        ((Order(1.0), "soon"), {}, "must be real number"),
        ((Order(1.0),), {"spin": "long"}, "must be real number"),
    ],
)
def test_wrong_arguments(ref, args: Any, named: Any, error: str) -> None:
    with pytest.raises(TypeError, match=error):
        ref.call(*args, **named)


@pytest.mark.parametrize("name", ["timeout", "spin"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), -1e-9])
def test_limits_that_are_no_seconds(ref, name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name}=.* is no number of seconds"):
        ref.call(Order(1.0), **{name: value})


def test_a_field_that_does_not_fit(ref) -> None:
    seen = ref.read_state().seen
    with pytest.raises(TypeError, match=r"Order\.size is a int32, which 4294967296 does not fit"):
        ref.call(Order(1.0, 2**32))
    assert ref.read_state().seen == seen


def test_an_answer_whose_class_refuses_it(ref) -> None:
    with pytest.raises(ValueError, match="a size of -7"):
        ref.call(Order(1.0, -7))
    for _ in range(5000):  # more than the callers that may wait at once
        with pytest.raises(ValueError, match="a size of -7"):
            ref.call(Order(1.0, -7))
    assert ref.call(Order(1.0, 7)) == Checked(7)


@actors.message
class Own:
    size: int64

    def __init__(self, size: int) -> None:
        self.size, self.twice = size, 2 * size


@actors.kernel(replies=Own)
def own(ctx, state, order: Order):
    ctx.reply(Own(order.size))


def test_an_answer_is_made_by_its_own_init(runtime) -> None:
    ref = runtime.launch(own, name="own")
    ref.activate()
    assert ref.call(Order(1.0, 7)).twice == 14


def test_large_messages_of_arrays(runtime) -> None:
    ref = runtime.launch(echo, name="echo")
    ref.activate()
    values = np.arange(2000).astype(np.uint8)
    assert np.array_equal(ref.call(Large(-5, values)).values, values)


def test_a_reference_that_was_not_initialised() -> None:
    bare = actors.ActorRef.__new__(actors.ActorRef)
    with pytest.raises(RuntimeError, match=r"Runtime\.launch"):
        bare.call(Order(1.0))


def test_a_reference_is_initialised_once(ref) -> None:
    with pytest.raises(RuntimeError, match="once"):
        ref.__init__(ref._home, ref._instance)
    assert ref.call(Order(1.0, 3)) == Checked(3)


def test_help_knows_the_call() -> None:
    assert (
        str(inspect.signature(actors.ActorRef.call))
        == "(self, /, message, timeout=None, spin=None)"
    )
    assert "TimeoutError: there is no reply in time" in (actors.ActorRef.call.__doc__ or "")
