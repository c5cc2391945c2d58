"""What a resident kernel does after its handler: it sends the outputs, releases the messages, and
counts; or it publishes which message has failed. A warp runs these parts together."""

from __future__ import annotations

from typing import Any

from gridlane.actors.device import receiving
from gridlane.actors.device.cluster_rings import accesses_of, go_away
from gridlane.actors.device.resident_block import DONE, Clock, publish
from gridlane.actors.device.resident_form import Form
from gridlane.actors.device.resident_messages import deliverer_of, refuser_of
from gridlane.actors.device.resident_parts import room
from gridlane.actors.device.resident_polling import LATER, MOST, OLD, store_state
from gridlane.actors.layouts import wire
from gridlane.actors.layouts.step import EMITTED
from gridlane.cuda import int32, int64, jit, syncwarp, threadfence_system, uint32
from gridlane.frontends.python.system import store_volatile, store_words


def _freer_of(clustered: bool) -> Any:
    """A device function by which a lane releases the slots of handled messages of an actor."""
    _, store = accesses_of(clustered)

    def free_slots(sources: Any, source: Any, count: Any) -> Any:
        ticket = sources.head[source] + count
        sources.head[source] = ticket
        address = sources.at[source] + wire.HEAD_AT
        store(address, uint32(ticket), uint32(ticket >> 32), 0, 0)

    return jit(device=True)(free_slots)


def giver_up_of(form: Form) -> Any:
    """A device function for the lanes whose handler has not failed, where another one's has: of
    ``done`` messages from a source, the last one has failed."""
    kept, words, lazy = form.kept, form.state_words, form.publishes_late
    free_slots = _freer_of(form.clustered)

    def give_up(block: Any, now: Any, source: Any, done: Any) -> None:
        if kept:
            store_state(block, words)
        if lazy:
            head = now.head + (done if source < 0 else 0)
            if source >= 0 and block.lane == 1:
                free_slots(block.sources, source, done)
            publish(block, now._replace(head=head, received=now.received + done), source)

    return jit(device=True)(give_up)


def _answerer_of(form: Form) -> Any:
    """A device function that sends the outputs of the last of ``done`` handled messages, which is
    at a place, or a message that is not handled. The clock is then that of the last event."""
    words, deliver, refuse = form.shape.words, deliverer_of(form), refuser_of(form)

    def answer(block: Any, now: Any, batch: Any, one: Any, done: Any, sent: Any) -> Any:
        place, lane, header = block.place, block.lane, block.box.words[one * words :]
        now = now._replace(clock=now.clock._replace(logical=now.clock.logical + (done - 1)))
        if batch.reason != 0:
            out_head = room(place, now.out_tail, now.out_head)
            refuse(place, lane, now.out_tail, header, batch.reason)
            now = now._replace(out_tail=now.out_tail + 1, out_head=out_head)
        if sent > 0:
            if batch.time > now.clock.physical:
                now = now._replace(clock=Clock(now.clock.since, batch.time, int64(-1)))
            now = deliver(block, now, header, sent)
        return now

    return jit(device=True)(answer)


def settler_of(form: Form) -> Any:
    """A device function that settles messages: sends what there is to send, releases their places,
    and counts them."""
    late, depth, behind = form.publishes_late, form.shape.depth, form.behind
    answer, free_slots = _answerer_of(form), _freer_of(form.clustered)

    def give_back(block: Any, now: Any, source: Any, done: Any) -> None:
        """Release handled messages, publish it to the warps that read, and restart the counts."""
        if block.lane == 0:
            block.info[EMITTED] = 0
            block.info[DONE] = 0
            if source < 0:
                store_volatile(block.box.told, receiving.HANDLED, now.head)
            else:
                free_slots(block.sources, source, done)
                store_volatile(block.box.told, receiving.TAKEN, now.taken)

    _give_back = jit(device=True)(give_back)

    def settle(block: Any, now: Any, batch: Any, done: Any, sent: Any) -> Any:
        source = batch.source
        one = (behind if source >= 0 else 0) + int32((batch.where + done - 1) & (depth - 1))
        now = answer(block, now, batch, one, done, sent)._replace(last=source)
        if source < 0:
            now = now._replace(head=now.head + done)
        else:
            now = now._replace(taken=now.taken + done)
        _give_back(block, now, source, done)
        if batch.reason == 0:
            now = now._replace(received=now.received + done, answered=now.answered + sent)
        news = int32((now.news & (LATER - 1)) + done)
        if not late or news >= MOST:
            news = int32(OLD)
        syncwarp()
        return now._replace(news=news)

    return jit(device=True)(settle)


def ender_of(clustered: bool) -> Any:
    """A device function for the warp that has handled messages, at the kernel's end."""

    def end(block: Any, row: Any, has_failed: Any) -> None:
        store_volatile(block.box.told, receiving.ENDED, int64(1))
        if clustered:
            threadfence_system()
            syncwarp()
            if block.lane == 1:  # the first lane has ended if its handler has failed
                store_words(block.place.status + wire.ENDED_AT, row.launch, has_failed, 0, 0)

    return jit(device=True)(end)


def leaver_of(clustered: bool) -> Any:
    """A device function for all threads, at the kernel's end."""

    def leave(block: Any, row: Any) -> None:
        if clustered:
            go_away(block.thread, block.number, row.rings, row.region)
        # The positions are stored there already; the handler's writes follow.
        threadfence_system()

    return jit(device=True)(leave)
