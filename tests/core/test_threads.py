"""Threads leave the program's signals to the program's threads."""

import signal
import sys
import threading
from signal import SIG_BLOCK, SIG_SETMASK, pthread_sigmask

import numpy as np
import pytest
from tests.memory.tiers.doubles import MemoryStore

from gridlane import cuda
from gridlane.core.threads import start_thread
from gridlane.memory.tiers import Tiers, tiered

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no masks of signals")

OTHERS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGUSR1}
OWN = {signal.SIGURG, signal.SIGPROF, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}


def mask():
    return pthread_sigmask(SIG_BLOCK, ())


def test_a_thread_blocks_the_program_s_signals():
    masks, before = [], mask()
    thread = threading.Thread(target=lambda: masks.append(mask()))
    start_thread(thread)
    thread.join()
    assert masks[0] >= OTHERS and not masks[0] & OWN
    assert mask() == before


def test_a_handler_that_raises_leaves_the_mask():
    class Interrupted(threading.Thread):
        def start(self):
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # is blocked
            super().start()

    before, thread = mask(), Interrupted(target=mask)
    with pytest.raises(KeyboardInterrupt):
        start_thread(thread)
    assert mask() == before
    thread.join()


def test_signals_that_were_blocked_stay_blocked():
    before = pthread_sigmask(SIG_BLOCK, {signal.SIGUSR2})
    try:
        start_thread(threading.Thread(target=mask))
        assert signal.SIGUSR2 in mask()
    finally:
        pthread_sigmask(SIG_SETMASK, before)


def test_the_thread_of_a_stream_blocks_them():
    masks, stream = [], cuda.stream()
    cuda.to_device(np.zeros(4), stream=stream)
    stream.add_callback(lambda *_: masks.append((threading.get_ident(), mask())))
    stream.synchronize()
    assert masks[0][0] != threading.get_ident()
    assert masks[0][1] >= OTHERS and not masks[0][1] & OWN


def test_the_thread_of_tiers_blocks_them():
    masks = []

    class Store(MemoryStore):
        def read(self, key, into):
            masks.append((threading.get_ident(), mask()))
            super().read(key, into)

    tiers = Tiers(8, disk=Store(), ahead=0)
    array = tiered(16, np.uint8, tiers, 4)
    array[...] = 1
    next(array.blocks(prefetch=0)).prefetch()
    tiers.background.wait()
    assert [thread != threading.get_ident() and each >= OTHERS for thread, each in masks] == [True]
