"""The history of errors: against a model, with threads, forks, and more errors than it keeps."""

from __future__ import annotations

import gc
import itertools
import json
import os
import pickle
import subprocess
import sys
import threading
import tracemalloc
from collections import Counter
from contextlib import suppress
from copy import copy

import hypothesis.strategies as st
import pytest
from hypothesis import given

import gridlane.core.errors as tree
from gridlane.abi.failure import Failure
from gridlane.core import device_errors, error_history
from gridlane.core.error_file import as_dict, of_dict
from gridlane.core.error_kinds import KINDS, kind_of
from gridlane.core.error_report import Report, parse
from gridlane.core.error_ring import Counts, Entry, History
from gridlane.core.error_table import CATEGORIES, TABLE
from gridlane.core.errors import GridlaneError


@pytest.fixture(autouse=True)
def empty():
    error_history.clear()
    yield
    error_history.clear()


TEXT = st.text(max_size=12)
ENTRIES = st.builds(
    Entry,
    number=st.integers(1, 2**40),
    microseconds=st.integers(-(10**15), 10**17),
    process=st.integers(1, 2**22),
    thread=TEXT,
    device=TEXT,
    kernel=TEXT,
    file=TEXT,
    line=st.integers(0, 10**6),
    category=st.sampled_from(sorted(CATEGORIES)),
    code=st.sampled_from(sorted(TABLE)),
    name=TEXT,
    message=TEXT,
    suggestion=TEXT,
)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


STEPS = st.lists(
    st.one_of(
        ENTRIES,
        st.tuples(st.just("later"), st.integers(0, 400)),
        st.tuples(st.just("back"), st.integers(0, 5)),
    ),
    max_size=60,
)


@given(most=st.integers(1, 9), steps=STEPS)
def test_the_ring_against_a_model(most, steps):
    clock = Clock()
    history = History(most, clock)
    kept: list[tuple[Entry, float]] = []  # of the model: in the ring
    every: list[tuple[Entry, float]] = []
    seconds: dict[int, int] = {}
    for step in steps:
        if isinstance(step, Entry):
            seconds[id(step)] = history.add(step)
            every.append((step, clock.now))
            kept = [*kept, every[-1]][-most:]
        elif step[0] == "later":
            clock.now += step[1]
        elif step[1] < len(every):
            item = every.pop(-1 - step[1])
            kept = [each for each in kept if each is not item]
            history.take_back(item[0], seconds[id(item[0])])
    assert history.entries() == tuple(entry for entry, _ in kept)
    counts = history.counts()
    assert counts.total == len(every)
    assert counts.categories == Counter(entry.category for entry, _ in every)
    assert counts.codes == Counter((entry.name, entry.code) for entry, _ in every)
    ages = [clock.now - time for _, time in every]
    assert counts.last_minute == sum(age < 60 for age in ages)
    assert counts.last_ten_minutes == sum(age < 600 for age in ages)


@given(st.lists(ENTRIES, max_size=5), st.integers(0, 9), st.integers(0, 9))
def test_json_has_all_of_a_report(entries, unwritten, skipped):
    codes = Counter((entry.name, entry.code) for entry in entries)
    categories = Counter(entry.category for entry in entries)
    counts = Counts(len(entries), dict(categories), dict(codes), 1, 2)
    report = Report(tuple(entries), counts, unwritten, skipped)
    assert parse(report.json()) == report
    for entry in entries:
        assert of_dict(json.loads(json.dumps(as_dict(entry)))) == entry


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "1", '{"codes": 3}', '{"codes": [], "errors": 1}']
)
def test_what_is_no_report(text):
    with pytest.raises(ValueError):
        parse(text)


def test_threads():
    ready = threading.Barrier(24)

    def fail() -> None:
        ready.wait()
        for _ in range(500):
            device_errors.device_error(2, "bytes")

    threads = [threading.Thread(target=fail, name=f"failing {n}") for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = error_history.counts()
    assert (counts.total, counts.categories) == (24 * 500, {"memory": 24 * 500})
    entries = error_history.entries()
    assert len(entries) == 1000 and len({entry.number for entry in entries}) == 1000
    assert {entry.thread for entry in entries} <= {thread.name for thread in threads}


def test_readers_see_whole_states_while_threads_fail():
    history, done = History(8), threading.Event()
    entry = Entry(1, 0, 1, "", "", "", "", 0, "use", 1, "name", "", "")

    def fail() -> None:
        while not done.is_set():
            history.take_back(entry, history.add(entry))

    threads = [threading.Thread(target=fail) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(50):
            counts = history.counts()
            assert counts.total == sum(counts.categories.values()) == sum(counts.codes.values())
            assert len(history.entries()) <= 8
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert history.counts() == Counts(0, {}, {}, 0, 0) and history.entries() == ()


def test_a_signal_handler_that_fails_while_an_error_is_counted():
    """The handler runs inside of the counting, on the same thread."""
    history = History(100)
    inner = Entry(2, 0, 1, "", "", "", "", 0, "fault", 700, "inner", "", "")

    class Interrupted(Entry):
        @property
        def category(self) -> str:  # type: ignore[override]
            if not calls:
                calls.append(1)
                for _ in range(100):  # more than wait to be counted
                    history.add(inner)
            return "use"

    calls: list[int] = []
    history.add(Interrupted(1, 0, 1, "", "", "", "", 0, "use", 1, "outer", "", ""))
    counts = history.counts()
    assert calls and counts.categories == {"use": 1, "fault": 100} and counts.total == 101
    # The ring has the last 100.
    assert [entry.name for entry in history.entries()] == ["inner"] * 100


def test_a_million_errors_take_bounded_memory():
    history, numbers = History(1000), itertools.count(1)

    def add(times: int) -> None:
        for _ in range(times):
            message = f"{next(numbers)} bytes"
            history.add(Entry(1, 0, 1, "", "", "", "", 0, "memory", 2, "OOM", message, ""))

    add(2000)
    gc.collect()
    tracemalloc.start()
    try:
        add(20_000)
        before = tracemalloc.get_traced_memory()[0]
        add(20_000)
        assert tracemalloc.get_traced_memory()[0] < before + 20_000
    finally:
        tracemalloc.stop()
    add(1_000_000 - 42_000)
    assert history.counts().total == 1_000_000 and len(history.entries()) == 1000


def test_a_child_of_a_fork_has_its_own_errors():
    device_errors.device_error(2)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            before = error_history.counts().total
            device_errors.device_error(700)
            (entry,) = error_history.entries()
            own = entry.process == os.getpid()
            os.write(write, f"{before} {error_history.counts().total} {entry.code} {own}".encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        assert answer.read() == "0 1 700 True"
    os.waitpid(child, 0)
    assert [entry.code for entry in error_history.entries()] == [2]


def test_a_fork_while_the_lock_is_held():
    with error_history._history._lock:
        child = os.fork()
        if not child:
            device_errors.device_error(2)
            os._exit(error_history.counts().total)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def classes(base):
    yield base
    for each in base.__subclasses__():
        yield from classes(each)


OF_THE_TREE = [
    each
    for name, each in vars(tree).items()
    if isinstance(each, type) and issubclass(each, GridlaneError) and each.__name__ == name
]


@pytest.mark.parametrize("kind", OF_THE_TREE)
def test_every_class_of_errors_has_a_category_and_a_suggestion(kind):
    row = KINDS[kind]
    assert row.category in CATEGORIES and row.category != "none" and row.advice
    assert row.number in TABLE


def blank(kind):
    """An error of a class, by whichever of its bases makes it."""
    for base in kind.__mro__:
        with suppress(TypeError):  # "is not safe"
            return base.__new__(kind)
    raise AssertionError(kind)


def test_a_class_that_is_derived_has_that_of_its_base():
    for each in set(classes(GridlaneError)):
        kind = kind_of(blank(each))
        assert kind is not None and kind.advice, each


def test_each_error_of_the_tree_makes_an_entry():
    makers = {
        tree.DeviceError: lambda: device_errors.described(2),
        tree.TierFull: lambda: tree.TierFull("host", 3, 1, 2),
    }
    for kind in OF_THE_TREE:
        error = makers.get(kind, lambda kind=kind: kind("what happened"))()
        error_history.clear()
        device_errors.noted(error, device="a device", kernel="a kernel")
        (entry,) = error_history.entries()
        assert entry.suggestion and entry.category in CATEGORIES and entry.message
        assert (entry.device, entry.kernel) == ("a device", "a kernel")


@pytest.mark.parametrize("number", sorted(set(TABLE) - {0}))
def test_an_error_of_the_table_has_its_row(number):
    device_errors.device_error(number, "the request")
    (entry,) = error_history.entries()
    row = TABLE[number]
    assert (entry.code, entry.name, entry.category) == (number, row.name, row.category)
    assert entry.suggestion == row.advice and "the request" in entry.message


def test_an_error_is_counted_once():
    error = device_errors.device_error(700)
    for _ in range(3):
        assert device_errors.noted(error) is error
    try:
        raise error
    except tree.DeviceError as again:
        device_errors.noted(again)
    copy(error), pickle.loads(pickle.dumps(error))  # copies are not noted when they are made
    assert error_history.counts().total == 1


def test_an_unpickled_stop_is_the_same_error():
    from gridlane.core.artifact import KernelErrorSite

    site = KernelErrorSite("IndexError", "out of bounds")
    error = device_errors.kernel_exception(site, kernel="k", device="cpu")
    device_errors.noted(pickle.loads(pickle.dumps(error)))
    (entry,) = error_history.entries()
    assert (entry.name, entry.code, entry.kernel, entry.device) == ("IndexError", 719, "k", "cpu")


def test_an_error_that_is_handled_is_not_counted():
    kept, gone = device_errors.device_error(2), device_errors.device_error(2)
    device_errors.handled(gone)
    device_errors.handled(gone)
    assert error_history.counts().total == 1
    assert error_history.entries()[0] is vars(kept)[tree.MARK][0]
    device_errors.handled(tree.GridlaneError("never noted"))
    assert error_history.counts().categories == {"memory": 1}


def test_a_lost_device_is_counted_once():
    fault = device_errors.lost_device("the device", "one, two", "vulkan:1")
    for _ in range(5):
        with pytest.raises(tree.DeviceError, match="719"):
            raise device_errors.again(fault)
        device_errors.noted(device_errors.again(fault))  # as launches do
        device_errors.handled(device_errors.again(fault))  # as tuning does
    (entry,) = error_history.entries()
    assert (entry.category, entry.device, entry.kernel) == ("lost", "vulkan:1", "one, two")


def test_a_failure_of_cudas_interface():
    device_errors.noted(Failure(700, "the words"), device="cpu")
    (entry,) = error_history.entries()
    assert (entry.code, entry.category, entry.message) == (700, "fault", "the words")
    assert entry.suggestion == TABLE[700].advice


def test_long_messages_are_cut():
    device_errors.device_error(2, "x" * 10_000)
    assert len(error_history.entries()[0].message) == 400


def test_a_program_without_errors_does_not_import_the_history():
    program = (
        "import sys, numpy as np\nfrom gridlane import xp, cuda\n"
        "cuda.to_device(np.ones(4)).copy_to_host(); cuda.synchronize()\n"
        "print([n for n in sys.modules if n.startswith('gridlane.core.error_') "
        "and not n.endswith('_table')])\n"
        "try: cuda.device_array(1 << 60)\nexcept Exception: pass\n"
        "print('gridlane.core.error_history' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\nTrue\n", done.stderr
