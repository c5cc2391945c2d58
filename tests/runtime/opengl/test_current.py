"""A context that EGL does not make current, as another thread has it, is an error."""

from __future__ import annotations

import threading

import pytest

from gridlane.runtime.drivers.opengl.contexts import usable


def test_a_context_of_another_thread_is_told_apart():
    context = usable()[0]()
    with context:
        pass
    taken, done = threading.Event(), threading.Event()

    def take():
        context._made.__enter__()  # behind the context's back
        taken.set()
        done.wait(60)
        context._made.__exit__(None, None, None)

    thread = threading.Thread(target=take)
    thread.start()
    assert taken.wait(60)
    with pytest.raises(OSError, match="eglMakeCurrent failed"), context:
        pass
    done.set()
    thread.join()
