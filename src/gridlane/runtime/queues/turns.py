"""The turn of the default stream of host devices, whose work runs on its callers.

Threads that use one stream take turns: its work is done piece after piece, as on a GPU, whoever
appends it.
"""

from __future__ import annotations

import os
import threading
from contextlib import AbstractContextManager
from typing import Any


class Turns:
    """Who has the turn holds ``lock``, which the same thread may take again.

    Attributes:
        lock: of this process; another one in the child of a fork, whose parent's threads are gone.
            C has a lock of its own within it where C does such work without Python.
    """

    def __init__(self) -> None:
        self.lock: AbstractContextManager[Any] = threading.RLock()
        os.register_at_fork(after_in_child=self.begin)

    def begin(self) -> None:
        """Have a lock that nobody holds."""
        self.lock = threading.RLock()


TURNS = Turns()
