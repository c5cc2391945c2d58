"""Errors before a launch, with the line that they are about."""

from __future__ import annotations

import numpy as np
import pytest
from tests.actors.samples import Fill, Number, Order, Total, book, relay, total

from gridlane import actors
from gridlane.core.errors import ArgumentError, CompileError, NameLookupError, TypingError
from gridlane.cuda import int64


@actors.message
class Wide:
    data: int64[50]


PLAIN = np.dtype([("a", np.int32)])


def _says_nothing(ctx, state, order: Order):
    ctx.reply(Fill(1, 2))


def _other_class(ctx, state, order: Order):
    ctx.reply(order)


def _plain_record(ctx, state, order: Order):
    ctx.send("book", PLAIN(1))


def _too_large(ctx, state, order: Order):
    ctx.send("book", Wide(0))


def _no_text(ctx, state, order: Order):
    ctx.send(order.size, order)


def _number(ctx, state, order: Order):
    ctx.send(5, order)


def _no_field(ctx, state, order: Order):
    ctx.reply(Fill(order.amount, 2))


def _state_of_none(ctx, state, order: Order):
    state.value += 1


@pytest.mark.parametrize(
    ("handler", "replies", "says", "line"),
    [
        (_says_nothing, None, "has no replies", "ctx.reply(Fill(1, 2))"),
        (_other_class, Fill, r"replies with .*Fill, not with .*Order", "ctx.reply(order)"),
        (_plain_record, Fill, "is no message", "PLAIN(1)"),
        (_too_large, Fill, "400 bytes.*room for 256; launch it with tier=1024", "ctx.send"),
        (
            _no_text,
            Fill,
            "the name of an actor or a topic must be known",
            "ctx.send(order.size, order)",
        ),
        (_number, Fill, "the name of an actor or a topic must be known", "ctx.send(5, order)"),
        (_no_field, Fill, "no field 'amount'", "order.amount"),
        (_state_of_none, Fill, "no field 'value'", "state.value += 1"),
    ],
)
def test_what_a_handler_may_not(on_cpu, handler, replies, says, line):
    actor = actors.kernel(handler, replies=replies)
    with pytest.raises(CompileError, match=says) as caught:
        on_cpu.launch(actor)
    assert line in str(caught.value)


def test_handlers_that_are_none():
    with pytest.raises(TypingError, match="annotate order with the class"):
        actors.kernel(lambda ctx, state, order: None)
    with pytest.raises(TypingError, match=r"takes \(ctx, state, message\)"):
        actors.kernel(lambda ctx, state: None)

    def plain(ctx, state, order: int):
        pass

    with pytest.raises(TypingError, match="int is no message") as caught:
        actors.kernel(plain)
    assert "def plain" in str(caught.value)

    def fine(ctx, state, order: Order):
        pass

    with pytest.raises(TypingError, match="int is no state"):
        actors.kernel(fine, state=int)
    with pytest.raises(TypingError, match="threads=0"):
        actors.kernel(fine, threads=0)
    with pytest.raises(TypeError, match="is an actor; launch it"):
        book(1, 2, 3)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"capacity": 3}, "capacity=3 is not a power of two"),
        ({"capacity": 0}, "capacity=0"),
        ({"outbox": 6}, "outbox=6"),
        ({"emits": 0}, "emits=0"),
        ({"batch": 0}, "batch=0"),
        ({"tier": 300}, "tier=300 is not one of 256, 1024"),
        ({"on_full": "drop"}, "on_full='drop'"),
        ({"restart": "always"}, "restart='always'"),
    ],
)
def test_options(on_cpu, options, says):
    with pytest.raises(ValueError, match=says):
        on_cpu.launch(total, **options)


def test_a_message_larger_than_the_tier(on_cpu):
    def wide(ctx, state, message: Wide):
        pass

    actor = actors.kernel(wide)
    with pytest.raises(TypingError, match="Wide has 400 bytes, more than the tier of 256"):
        on_cpu.launch(actor, tier=256)
    assert on_cpu.launch(actor)._instance.program.slot_bytes == 256 + 1024


def test_arrays_of_a_launch(on_cpu):
    with pytest.raises(ArgumentError, match="takes 0 arrays"):
        on_cpu.launch(total, args=(np.zeros(3),))


def test_wrong_values(on_cpu):
    ref = on_cpu.launch(total, state=Total(1, 2))
    ref.activate()
    for use in (ref.send, ref.call, lambda each: ref.post_many([each])):
        with pytest.raises(TypeError, match="total handles Number, not Order"):
            use(Order(1, 2))
    with pytest.raises(TypeError, match="handles records of"):
        ref.post_many(np.zeros(3, np.int32))
    with pytest.raises(TypeError, match="the state of total is a Total"):
        on_cpu.launch(total, state=Number(1))
    with pytest.raises(TypeError, match="is no actor"):
        on_cpu.launch(lambda: None)


def test_sends_to_nobody_are_found_before_the_first_message(on_cpu):
    ref = on_cpu.launch(relay)
    with pytest.raises(NameLookupError, match="sends to 'total', and no actor") as caught:
        ref.activate()
    assert 'ctx.send("total"' in str(caught.value)
    assert ref.state is actors.State.LAUNCHED


def relay_to(name):
    """An actor whose handler has a name from around it."""

    @actors.kernel
    def made(ctx, state, number: Number):
        ctx.send(name, number)

    return made


def test_names_in_variables_are_found_too(on_cpu):
    ref = on_cpu.launch(relay_to("nobody"))
    with pytest.raises(NameLookupError, match="sends to 'nobody', and no actor"):
        ref.activate()


def test_a_variable_that_has_no_value_yet_is_no_name():
    @actors.kernel
    def early(ctx, state, number: Number):
        ctx.send(later, number)

    assert early.uses == ()
    later = "total"


@actors.kernel
def publisher(ctx, state, number: Number):
    ctx.publish("numbers.odd", number)


def test_undeclared_topics(on_cpu):
    with pytest.raises(NameLookupError, match=r"publishes to 'numbers\.odd'") as caught:
        on_cpu.launch(publisher)
    assert 'ctx.publish("numbers.odd"' in str(caught.value)
    with pytest.raises(actors.ActorError, match=r"'numbers\.odd' is not declared"):
        on_cpu.publish("numbers.odd", Number(1))


@actors.kernel(replies=Number)
def chatty(ctx, state, number: Number):
    for n in range(number.value):
        ctx.reply(Number(n))


def test_more_emitted_messages_than_announced(on_cpu):
    """None of a failing message's are sent."""
    ref = on_cpu.launch(chatty, emits=3, restart="fresh")
    ref.activate()
    with pytest.raises(RuntimeError, match="emits more than 3 messages for one"):
        ref.call(Number(4), timeout=60)
    assert ref.call(Number(1), timeout=60).value == 0
    ref.send(Number(3))
    assert [ref.receive(60).value for _ in range(3)] == [0, 1, 2]
    assert ref.try_receive() is None
