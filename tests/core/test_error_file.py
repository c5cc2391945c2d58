"""The file of GRIDLANE_ERRORS: lines of processes and threads, torn lines, lines of others."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given
from tests.core.test_error_history import ENTRIES

from gridlane.core import error_file
from gridlane.core.error_file import FORM, as_dict, parse, read
from gridlane.core.error_report import report_of
from gridlane.core.error_ring import EPOCH, Entry


@pytest.fixture(autouse=True)
def fresh():
    error_file._begin_in_child()
    yield
    error_file._begin_in_child()


def entry(number: int, **fields: object) -> Entry:
    where = os.getpid(), "thread", "cpu", "k", "f.py", 3
    return Entry(number, 10**15, *where, "use", 1, "N", "m", "s")._replace(**fields)


def line(of: Entry) -> bytes:
    return json.dumps({"gridlane": FORM, **as_dict(of)}).encode() + b"\n"


def test_what_is_appended_is_read(tmp_path):
    path, entries = tmp_path / "errors", tuple(entry(n, message="é\n\ud800") for n in range(1, 4))
    for each in entries:
        error_file.append(path, each)
    assert read(path) == (entries, 0) and error_file.unwritten() == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600  # messages may have paths and values


def test_what_is_taken_back_is_not_read(tmp_path):
    path = tmp_path / "errors"
    for number in (1, 2, 3):
        error_file.append(path, entry(number))
    error_file.append_taken_back(path, entry(2))
    error_file.append_taken_back(path, entry(2, process=1))  # another process's
    assert [each.number for each in read(path).entries] == [1, 3]


def test_a_number_of_a_process_that_comes_again():
    old, new = entry(1, message="old"), entry(1, message="new")
    taken = json.dumps({"gridlane": FORM, "process": new.process, "taken_back": 1}).encode()
    assert parse([line(old), line(new), taken]) == ((old,), 0)


JUNK = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [b"[]", b"1", b"null", b'{"gridlane": 1}', b'{"gridlane": 2, "number": 1}', b'{"a": 1}',
         b'{"gridlane": 1, "process": [], "taken_back": {}}', b"[" * 5000, b'{"gridlane": 1, "t']
    ),
).map(lambda data: data.replace(b"\n", b" "))  # fmt: skip


@given(st.lists(st.one_of(ENTRIES, JUNK), max_size=12))
def test_lines_of_others_are_skipped_and_counted(lines):
    own = [each for each in lines if isinstance(each, Entry)]
    junk = [each for each in lines if not isinstance(each, Entry) and each.strip()]
    data = [line(each) if isinstance(each, Entry) else each + b"\n" for each in lines]
    assert parse(data) == (tuple(own), len(junk))


@given(ENTRIES, st.data())
def test_a_torn_line_is_skipped(torn, data):
    whole = entry(7)
    end = data.draw(st.integers(1, len(line(torn)) - 2))
    assert parse([line(whole), line(torn)[:end]]) == ((whole,), 1)


@pytest.mark.parametrize(
    "wrong",
    [{"time": "2026"}, {"time": 3}, {"time": "2026-01-01T00:00:00+01:00"}, {"line": "3"},
     {"line": True}, {"code": None}, {"device": 1}],
)  # fmt: skip
def test_a_field_of_a_wrong_type(wrong):
    values = {"gridlane": FORM, **as_dict(entry(1)), **wrong}
    assert parse([json.dumps(values).encode()]) == ((), 1)


def test_the_line_after_a_torn_one_is_whole(tmp_path, monkeypatch):
    path, write = tmp_path / "errors", os.write
    monkeypatch.setattr(error_file.os, "write", lambda file, data: write(file, data[:20]))
    error_file.append(path, entry(1))
    monkeypatch.undo()
    error_file.append(path, entry(2))
    assert read(path) == ((entry(2),), 1) and error_file.unwritten() == 1


def test_a_file_that_cannot_be_written(tmp_path, capfd):
    path = tmp_path / "missing" / "errors"
    for number in range(1, 4):
        error_file.append(path, entry(number))
    assert error_file.unwritten() == 3
    (said,) = capfd.readouterr().err.splitlines()
    assert said.startswith(f"gridlane: GRIDLANE_ERRORS={path}: ") and "No such file" in said


PROGRAM = """
import threading
from gridlane.core import device_errors
def fail():
    for n in range(100):
        device_errors.device_error(2, f"{n} bytes " + "x" * 300)
threads = [threading.Thread(target=fail) for _ in range(4)]
for each in threads: each.start()
for each in threads: each.join()
"""


def test_lines_of_processes_and_threads_do_not_mix(tmp_path):
    path = tmp_path / "errors"
    environment = {**os.environ, "GRIDLANE_ERRORS": str(path)}
    command = [sys.executable, "-c", PROGRAM]
    programs = [subprocess.Popen(command, env=environment) for _ in range(3)]
    assert [each.wait() for each in programs] == [0, 0, 0]
    entries, skipped = read(path)
    assert (len(entries), skipped) == (3 * 4 * 100, 0)
    assert {each.process for each in entries} == {each.pid for each in programs}


def test_no_file_is_written_unless_it_is_asked_for(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "GRIDLANE_ERRORS"}
    program = PROGRAM + "import sys; print('gridlane.core.error_file' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=tmp_path, capture_output=True
    )
    assert done.stdout == b"False\n" and [*tmp_path.iterdir()] == []


def test_the_counts_of_a_file():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    ages = [700, 599, 60, 59, 0]
    times = [(now - timedelta(seconds=age) - EPOCH) // timedelta(microseconds=1) for age in ages]
    entries = [entry(n, microseconds=time) for n, time in enumerate(times, 1)]
    report = report_of(reversed(entries), now, skipped=2)
    assert report.entries == tuple(entries)
    assert (report.counts.last_minute, report.counts.last_ten_minutes) == (2, 4)
    assert report.counts.codes == {("N", 1): 5} and report.counts.categories == {"use": 5}
    text = str(report)
    assert "5 errors; 2 in the last minute, 0.4 a minute in the last ten" in text
    assert "torn or others': 2" in text and "device cpu, kernel k, f.py:3" in text


def test_the_text_has_the_last_errors_alone():
    report = report_of([entry(n, microseconds=n) for n in range(1, 50)], datetime.now(UTC))
    assert "the last 20:" in str(report) and str(report).count("remedy: s") == 20


def test_threads_of_one_process_append_whole_lines(tmp_path):
    path: Path = tmp_path / "errors"
    threads = [
        threading.Thread(
            target=lambda first: [error_file.append(path, entry(first + n)) for n in range(50)],
            args=(1000 * place,),
        )
        for place in range(24)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries, skipped = read(path)
    assert (len(entries), skipped) == (24 * 50, 0)
