"""Copies of weak collections, which other threads and handlers of signals change meanwhile."""

from __future__ import annotations

from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

T = TypeVar("T")


def live(objects: WeakSet[T] | WeakKeyDictionary[T, Any] | WeakValueDictionary[Any, T]) -> list[T]:
    """The live objects of a weak collection: members, keys that are weak, or values.

    Iterating over it fails when an object is added meanwhile: by another thread, or by a handler of
    a signal or a finalizer on this one.
    """
    while True:
        try:
            return list(objects.values() if isinstance(objects, WeakValueDictionary) else objects)
        except RuntimeError as error:
            if type(error) is not RuntimeError:  # as RecursionError
                raise
