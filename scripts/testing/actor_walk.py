"""The functions that a message to an actor enters, from its sender to the launch of a step.

python scripts/testing/actor_walk.py [--device interp]

Python functions and C functions of all threads count, but not those below a method of the runtime's
streams: they are the driver's. The device's steps must be launches from Python, as all but the
CPU's are.
"""

from __future__ import annotations

import argparse
import gc
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import gridlane
from gridlane import actors
from gridlane.cuda import int32

_ROOT = Path(gridlane.__file__).parent
_RUNTIME = str(_ROOT / "runtime")
SECONDS = 30.0
SETTLED = 0.1
"""Seconds after which the thread of batches waits for a message again."""


@actors.message
class Number:
    """A number to add."""

    value: int32


@actors.state
class Sum:
    """The sum so far."""

    value: int32


@actors.kernel(state=Sum)
def add(ctx: Any, state: Any, number: Number) -> None:
    """Add a number."""
    state.value += number.value


class Walk:
    """Functions that threads enter between ``begin`` and a stream's launch.

    Attributes:
        entered: their names in order, each with its thread's.
        done: set at the launch.
    """

    def __init__(self) -> None:
        self.entered: list[tuple[str, str]] = []
        self.done = threading.Event()
        self._counts = False
        self._below = threading.local()

    def begin(self) -> None:
        """Count from now on."""
        self._counts = True

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        """See ``sys.setprofile``."""
        depth: int = getattr(self._below, "depth", 0)
        is_driver = frame.f_code.co_filename.startswith(_RUNTIME)
        if event == "call":
            if depth == 0:
                self._enter(frame.f_code.co_name)
                if is_driver and frame.f_code.co_name == "launch" and self._counts:
                    self._counts = False
                    self.done.set()
            if depth or is_driver:
                self._below.depth = depth + 1
        elif event == "return" and depth:
            self._below.depth = depth - 1
        elif event == "c_call" and depth == 0:
            self._enter(argument.__qualname__)

    def _enter(self, name: str) -> None:
        if self._counts:
            self.entered.append((threading.current_thread().name, name))


def walk_of(device: str) -> list[tuple[str, str]]:
    """The functions between the send of a message and the launch of its step, without ``send``'s
    message; the actor has handled others before."""
    walk, number = Walk(), Number(1)
    threading.setprofile(walk.profile)
    try:
        with actors.Runtime(device, persistent=False) as runtime:
            ref = runtime.launch(add)
            ref.activate()
            for _ in range(3):
                ref.send(number)
            while ref.read_state() != Sum(3):
                pass
            time.sleep(SETTLED)
            gc.disable()  # or finalisers count
            sys.setprofile(walk.profile)
            walk.begin()
            ref.send(number)
            sys.setprofile(None)
            if not walk.done.wait(SECONDS):
                raise TimeoutError(f"{device} has launched no step")
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        gc.enable()
    return [(thread, name) for thread, name in walk.entered if name != "setprofile"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="interp", help="whose steps Python launches")
    entered = walk_of(parser.parse_args().device)
    for thread, name in entered:
        print(f"{thread:26} {name}")
    print(len(entered), "functions")


if __name__ == "__main__":
    main()
