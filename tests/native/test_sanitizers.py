"""Threads, the pool, the queues and the memory in C by many threads, under the sanitizers."""

import subprocess

import pytest
from tests.effort import NIGHTLY
from tests.native.building import HERE, built

from gridlane.native import text

OPTIONS = {
    "thread": ["-fsanitize=thread"],
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"],
    "none": ["-O2"],
}


@pytest.fixture(scope="module", params=list(OPTIONS))
def program(request, tmp_path_factory):
    made = tmp_path_factory.mktemp("stress") / "stress"
    return built(HERE / "stress.c", made, *OPTIONS[request.param], sources=text.SOURCES)


@pytest.mark.parametrize("limit", [[], ["5000"]])
def test_no_races_and_no_wrong_accesses(program, limit):
    """Each block runs once; launches fail, stop and fork, or time out; nothing is reported."""
    launches = "10000" if NIGHTLY else "300"
    done = subprocess.run(
        [str(program), "24", launches, "3", *limit],
        capture_output=True,
        text=True,
        timeout=3000 if NIGHTLY else 300,
        # After a longjmp, ThreadSanitizer takes the thread to be in the signal's handler still.
        env={"TSAN_OPTIONS": "report_signal_unsafe=0"},
    )
    assert (done.returncode, done.stdout) == (0, "launched\n"), done.stderr
    assert "WARNING" not in done.stderr, done.stderr


@pytest.mark.parametrize("options", OPTIONS)
def test_queues(options, tmp_path):
    """Each item runs once, in order; errors, circles, holds and forks; nothing is reported."""
    made = tmp_path / "queues"
    program = built(HERE / "queues.c", made, *OPTIONS[options], sources=text.QUEUES)
    done = subprocess.run(
        [str(program), "24", "10000" if NIGHTLY else "500"],
        capture_output=True,
        text=True,
        timeout=3000 if NIGHTLY else 300,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


@pytest.mark.parametrize("options", OPTIONS)
def test_threads(options, tmp_path):
    """Signals, times, cancels, parking and forks of ``threads.h``; nothing is reported."""
    made, threads = tmp_path / "threads", [text.ROOM / "threads.c"]
    program = built(HERE / "threads.c", made, *OPTIONS[options], sources=threads)
    done = subprocess.run(
        [str(program), "100000" if NIGHTLY else "5000"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


REPORTS = (
    "gridlane: memory of 100 bytes was written behind its end, at byte 100: ",
    "gridlane: memory of 100 bytes was written in front of its start, at byte -3: ",
    "gridlane: memory of 300 bytes was written behind its end, at byte 301: ",
)


@pytest.mark.parametrize("options", OPTIONS)
def test_memory(options, tmp_path):
    """Blocks and ranges of many threads are as each knows its own; guards are reported; forks."""
    made = tmp_path / "space"
    program = built(HERE / "space.c", made, *OPTIONS[options], sources=text.QUEUES)
    done = subprocess.run(
        [str(program), "24", "20000" if NIGHTLY else "1000"],
        capture_output=True,
        text=True,
        timeout=3000 if NIGHTLY else 300,
        # The child of a fork starts no thread, and joins none of its parent's.
        env={"TSAN_OPTIONS": "die_after_fork=0 report_thread_leaks=0"},
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == len(REPORTS) and all(map(str.startswith, lines, REPORTS)), done.stderr
