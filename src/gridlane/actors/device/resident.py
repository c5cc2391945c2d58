"""The resident kernel of an actor: it polls for messages, and handles them one by one."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from gridlane.actors.device.reading_warps import actors_warp_of, host_warp_of
from gridlane.actors.device.resident_block import (
    WHAT,
    Batch,
    beginner_of,
    block_of,
    standing_of,
)
from gridlane.actors.device.resident_form import Form
from gridlane.actors.device.resident_handling import accepter_of, handler_of
from gridlane.actors.device.resident_polling import END, MESSAGE, REFUSED, poller_of
from gridlane.actors.device.resident_settling import ender_of, giver_up_of, leaver_of, settler_of
from gridlane.cuda import blockIdx, int32, jit, syncthreads


def resident_of(handler: Any, context: Any, form: Form) -> FunctionType:
    """A kernel (rows, state, arrays): each block is an actor, with its row and its state."""
    apart, clustered = form.shape.apart, form.clustered
    keep_host, keep_actors = host_warp_of(form.shape), actors_warp_of(form.shape)
    make, begin, leave = block_of(form), beginner_of(form), leaver_of(clustered)
    handle_messages = _loop_of(handler, context, form)

    def actor(rows: Any, state: Any, arrays: Any) -> None:
        row = rows[blockIdx.x]
        block = make(row, state)
        begin(block, row)
        if clustered and row.launch == 0:
            pass  # it has ended: the others may write to its memory
        elif apart and block.thread >= 64:
            keep_actors(block)
        elif apart and block.thread >= 32:
            keep_host(block)
        else:
            handle_messages(block, row, arrays)
        leave(block, row)

    return actor


def _loop_of(handler: Any, context: Any, form: Form) -> Any:
    """A device function: the loop of the threads that handle messages. The first warp polls for
    them, takes and settles them; where there are more, these learn the result from ``info``."""
    wide = form.wide
    poll, accept, handle = poller_of(form), accepter_of(form), handler_of(handler, context, form)
    give_up, settle, end = giver_up_of(form), settler_of(form), ender_of(form.clustered)

    def loop(block: Any, row: Any, arrays: Any) -> None:
        now, is_first = standing_of(row), not wide or block.thread < 32
        batch = Batch(int32(-1), int32(0), int32(1), int32(0), row.started)
        while True:
            outcome, failed, done, sent = int32(0), False, int32(1), int32(0)
            if is_first:
                outcome, batch, now = poll(block, now)
                if outcome == MESSAGE:
                    batch, now = accept(block, now, batch)
                    if batch.reason != 0:
                        outcome = int32(REFUSED)
                if wide and block.thread == 0:
                    block.info[WHAT] = outcome
                    block.time[0] = now.clock.physical
            if wide:
                syncthreads()
                outcome = block.info[WHAT]
                now = now._replace(clock=now.clock._replace(physical=block.time[0]))
            if outcome == END:
                break
            if outcome == MESSAGE:
                failed, done, sent = handle(block, now.clock, batch, arrays)
                if failed:
                    give_up(block, now, batch.source, done)
                    break
            if is_first:
                now = settle(block, now, batch, done, sent)
        if is_first:
            end(block, row, 1 if outcome == MESSAGE else 0)

    return jit(device=True)(loop)
