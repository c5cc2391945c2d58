"""The kernel of an actor: one block that handles a batch of messages, one after the other."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from gridlane.actors.layouts.step import COUNT, EMITTED, FIRST, HANDLED
from gridlane.cuda import blockIdx, syncthreads, threadIdx


def step_of(handler: Any, context: Any, threads: int, emits: int) -> FunctionType:
    """A kernel (info, messages, outputs, state, arrays) of one block of ``threads`` threads.

    It ends before a message whose outputs may not have room. ``messages`` has a power of two slots;
    the batch may wrap around behind the last one.
    """
    together = threads > 1

    def actor(info: Any, messages: Any, outputs: Any, state: Any, arrays: Any) -> None:
        first, count = info[FIRST], info[COUNT]
        thread = threadIdx.x
        for n in range(count):
            if together:
                syncthreads()
            base = info[EMITTED]
            if together:
                syncthreads()
            if base + emits > outputs.size:
                break
            here = messages[(first + n) & (messages.size - 1)]
            ctx = context(info, outputs, n, base, here.physical, thread, blockIdx.x)
            handler(ctx, state[0], here.payload, *arrays)
            if together:
                syncthreads()
            if thread == 0:
                info[HANDLED] = n + 1

    return actor
