"""No test sleeps until something has happened: it waits for that (``tests/waiting.py``)."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
SLEEPS = re.compile(r"(?<!def )\b(?:(?:u|nano)?sleep ?\((?!0\))|Timer\()")
"""Calls that sleep; ``asyncio.sleep(0)`` yields."""

ALLOWED = {
    "waiting.py": (1, "the helper that polls"),
    "actors/test_resident_checkpoint.py": (2, "the progress of a kernel that does not end"),
    "actors/test_resident_telemetry.py": (1, "the kernel's clock measures that span"),
    "runtime/test_interrupts.py": (2, "a program that a signal interrupts, at any place"),
    "runtime/test_handlers_of_queues.py": (1, "work is held while a wait is interrupted"),
    "codegen/test_cpu_flushing.py": (1, "a kernel that a signal interrupts, at any place"),
    "cli/test_run.py": (1, "a program that a signal interrupts"),
    "actors/engine/stress.c": (2, "random interleavings, for a span"),
    "native/stress.c": (2, "polls; random interleavings, for a span"),
    "abi/test_hot.py": (4, "a stream's work is held while the program waits for it"),
    "abi/programs/cancels.c": (1, "threads are cancelled wherever they are"),
    "abi/programs/signals_at_once.c": (1, "while Python begins, which cannot be observed"),
    "abi/programs/many_threads.c": (1, "contexts end wherever other threads are"),
    "abi/programs/apart.cu": (2, "polls"),
    "abi/programs/apart_threads.cu": (2, "polls"),
    "abi/programs/no_thread.c": (1, "polls"),
    "abi/programs/own_streams.cu": (2, "polls; a thread of C's that rests"),
    "abi/programs/own_events.cu": (2, "events measure that span; longer than C waits"),
    "abi/programs/hot_events.c": (1, "events measure that span"),
    "abi/programs/hot_work.c": (3, "longer than C waits; polls"),
    "abi/programs/turns.cu": (2, "another thread must not go on meanwhile"),
    "abi/programs/faults.c": (1, "polls"),
    "site/test_kernelbench.py": (1, "a problem that hangs"),
    "tiles/test_hooks.py": (2, "calls measure that span"),
}
"""How many calls of a file sleep, and why."""


def sleeps() -> dict[str, int]:
    """How many calls that sleep each file of the tests has."""
    files = [each for end in ("py", "c", "cu", "cpp", "h") for each in TESTS.rglob(f"*.{end}")]
    counts = {
        each.relative_to(TESTS).as_posix(): len(SLEEPS.findall(each.read_text()))
        for each in files
        if each != Path(__file__)
    }
    return {name: count for name, count in counts.items() if count}


def test_the_files_that_sleep():
    assert sleeps() == {name: count for name, (count, _) in ALLOWED.items()}


def test_calls_that_sleep():
    text = "time.sleep(1) await asyncio.sleep(0) def sleep(s) usleep(3) nanosleep (&a, 0) 'asleep('"
    assert SLEEPS.findall(text) == ["sleep(", "usleep(", "nanosleep ("]
