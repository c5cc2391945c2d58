"""Copies of weak collections that change meanwhile."""

import sys
import weakref

import numpy as np
import pytest

from gridlane import cuda
from gridlane.core.weak import live
from gridlane.runtime.queues.host_stream import live_streams


class Thing:
    pass


def added_to(kind):
    """An empty collection, and a function that adds to it."""
    made = kind()
    if kind is weakref.WeakSet:
        return made, made.add
    if kind is weakref.WeakKeyDictionary:
        return made, lambda thing: made.setdefault(thing, 1)
    return made, lambda thing: made.setdefault(id(thing), thing)


class _During:
    """Call a function once while a function of weak collections runs, as a handler would."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __enter__(self):
        sys.setprofile(self)

    def __exit__(self, *_):
        sys.setprofile(None)

    def __call__(self, frame, event, _):
        names = "values", "keys", "__iter__"
        inside = frame.f_code.co_name in names and "weak" in frame.f_code.co_filename
        if event == "return" and inside and not self.calls:  # also where it yields
            self.calls += 1
            self.function()


@pytest.mark.parametrize(
    "kind", [weakref.WeakSet, weakref.WeakKeyDictionary, weakref.WeakValueDictionary]
)
def test_an_object_is_added_meanwhile(kind):
    things, more = [Thing() for _ in range(3)], Thing()
    collection, add = added_to(kind)
    for each in things:
        add(each)
    during = _During(lambda: add(more))
    with during:
        found = live(collection)
    assert during.calls == 1
    assert set(found) == {*things, more}
    del things[1:], found, each
    assert set(live(collection)) == {things[0], more}


def test_errors_of_the_depth_of_calls_are_raised():
    class Deep(weakref.WeakSet):
        def __iter__(self):
            raise RecursionError

    with pytest.raises(RecursionError):
        live(Deep())


def test_a_stream_is_made_while_the_device_waits_for_all():
    """As a handler of a signal, or another thread, does."""

    @cuda.jit
    def increment(x):
        x[0] += 1

    x, made = np.zeros(1, np.int32), [cuda.stream()]
    increment[1, 1, made[0]](x)
    during = _During(lambda: made.append(cuda.stream()))
    with during:
        found = live_streams()
    assert during.calls == 1 and len(found) >= 2
    cuda.synchronize()
    assert x[0] == 1
