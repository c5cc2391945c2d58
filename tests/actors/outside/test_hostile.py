"""A peer of the same user that writes what it likes: the runtime goes on, and says what came."""

from __future__ import annotations

import json
import os
import random
import struct

import pytest
from tests.actors.outside.processes import HEADS, Memory, fork, status_of
from tests.actors.samples import Number, total
from tests.waiting import until

from gridlane import actors
from gridlane.actors import ActorError, Reason
from gridlane.actors.layouts.blocks import InboxHeader
from gridlane.actors.layouts.shared import SharedInbox
from gridlane.actors.processes.inboxes import Entry, own_entries

FREE, CLAIMED, PUBLISHED, ABANDONED, RETURNED = range(5)
PAYLOAD = struct.pack("<q", 7)


@pytest.fixture
def memory(folder, ref):
    with ref.share("open", capacity=4, peers=4, lease=0.02) as share:
        made = Memory(folder, "open")
        made.share = share
        yield made
        made.close()


def works(ref):
    """The inbox takes messages still."""
    before = ref.read_state().value
    with actors.connect("open", replies=Number) as there:
        for n in range(1, 10):  # each slot twice
            assert there.call(Number(1), timeout=60).value == before + n


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"token": 5}, Reason.WRONG_TOKEN),
        ({"type": 5}, Reason.WRONG_TYPE),
        ({"magic": 5}, Reason.GARBLED),
        ({"version": 2}, Reason.GARBLED),
        ({"payload_bytes": 7}, Reason.GARBLED),
        ({"payload_bytes": 2**32 - 1}, Reason.GARBLED),
        ({"reply_to": 5, "correlation": 1}, Reason.GARBLED),
        ({"reply_to": 2**63 + 1, "correlation": 1}, Reason.GARBLED),
        ({"reply_to": 2**62 + 1, "correlation": 1}, Reason.GARBLED),
        ({"reply_to": 1, "correlation": 0}, Reason.GARBLED),
        ({"reply_to": 0, "correlation": 1}, Reason.GARBLED),
        ({"reply_to": 1, "correlation": 2**56}, Reason.GARBLED),
    ],
)
def test_messages_that_are_none(runtime, ref, memory, changes, reason):
    memory.message(0, PAYLOAD, **changes)
    memory.word(0, PUBLISHED, 0, 0)
    letters = []
    until(lambda: letters.extend(runtime.dead_letters()) or letters)
    assert [each.reason for each in letters] == [reason]
    assert len(letters[0].payload) == 8
    assert memory.share.metrics()["refused"] == 1
    assert ref.metrics()["received"] == 0
    works(ref)


def test_a_whole_message_counts(ref, memory):
    memory.message(0, PAYLOAD)
    memory.word(0, PUBLISHED, 0, 0)
    until(lambda: ref.read_state().value == 7)
    works(ref)


def test_clocks_far_ahead(runtime, ref, memory):
    offset = memory.slots + 64
    memory.message(0, PAYLOAD)
    memory.write(offset, "QQQ", 2**63, 0, 0)
    memory.message(1, PAYLOAD)
    memory.write(offset + memory.slot_bytes, "QQQ", 0, 2**64 - 1, 0)
    memory.word(1, PUBLISHED, 0, 0)
    memory.word(0, PUBLISHED, 0, 0)
    letters = []
    until(lambda: letters.extend(runtime.dead_letters()) or len(letters) == 2)
    assert {each.reason for each in letters} == {Reason.DRIFTED}
    works(ref)


@pytest.mark.parametrize(
    ("kind", "seat", "lap"),
    [(PUBLISHED, 0, 5), (FREE, 0, 9), (CLAIMED, 0, 3), (15, 4095, 2**48 - 1), (7, 0, 0)],
)
def test_words_that_are_none(runtime, ref, memory, kind, seat, lap):
    for slot in range(4):
        memory.word(slot, kind, seat, lap)
    letters = []
    until(lambda: letters.extend(runtime.dead_letters()) or len(letters) == 4)
    assert {each.reason for each in letters} == {Reason.GARBLED}
    works(ref)


@pytest.mark.parametrize("seat", [1, 4, 4095])
def test_slots_of_nobody_are_free_again(runtime, ref, memory, seat):
    memory.word(0, CLAIMED, seat, 0)
    memory.word(1, ABANDONED, seat, 0)
    until(lambda: memory.kind(0) == FREE)
    works(ref)
    assert [each.reason for each in runtime.dead_letters()] == [Reason.ABANDONED]


@pytest.mark.parametrize("tail", [3, 2**20, 2**64 - 1])
def test_tails_that_are_none(ref, memory, tail):
    memory.tail(tail)
    works(ref)


def test_heads_and_sizes_that_are_none(folder, ref, memory):
    """Those that are connected have their own copies; others are refused."""
    there = actors.connect("open", replies=Number)
    memory.write(0, "II", 2**31, 2**31)
    memory.write(InboxHeader["head"].offset, "Q", 2**63)
    assert there.call(Number(1), timeout=60).value == 1
    with pytest.raises(ActorError, match="its sizes do not fit"):
        actors.connect("open")
    place = 2 * InboxHeader.size + SharedInbox["seats"].offset
    memory.write(0, "I", 4)
    memory.write(place, "I", 2**20)
    with pytest.raises(ActorError, match="its sizes do not fit"):
        actors.connect("open")
    memory.write(2 * InboxHeader.size, "Q", 0)
    with pytest.raises(ActorError, match="is no inbox of this version"):
        actors.connect("open")
    there.close()


def test_answers_that_are_none(ref, memory):
    """A caller reads no more than a reply's bytes."""
    with actors.connect("open", replies=Number) as there:
        seat = HEADS + 0 * 64
        ref.suspend()

        def lie():
            until(lambda: memory.call(0))
            call = memory.call(0)
            memory.write(seat + 24, "II", 0, 2**31)
            memory.write(seat + 8, "Q", 2 << 56 | call)

        liar = fork(lie)
        with pytest.raises(actors.MessageDead, match="wrote what is no message"):
            there.call(Number(1), timeout=60, spin=0)
        assert status_of(liar) == 0
        ref.resume()


def test_the_memory_cannot_be_made_shorter(memory):
    for size in (0, 1 << 30):
        with pytest.raises(PermissionError):
            os.ftruncate(memory.file, size)


def test_random_bytes_everywhere(runtime, ref, memory):
    """Other peers may starve meanwhile; the runtime lives, and ends."""
    other = runtime.launch(total)
    other.activate()
    size = len(memory.map)

    def scribble():
        make = random.Random(7)
        for _ in range(60_000):
            place = make.randrange(size - 8) & ~7
            if make.random() < 0.5:  # words of slots above all
                place = memory.slots + make.randrange(4) * memory.slot_bytes + 56
                value = make.randrange(6) << 60 | make.randrange(5) << 48 | make.randrange(3)
            else:
                value = make.choice([0, 1, 2**31, 2**63, make.getrandbits(64)])
            memory.write(place, "Q", value)

    child = fork(scribble)
    assert status_of(child) == 0
    assert other.call(Number(3), timeout=60).value == 3
    assert sum(memory.share.metrics()[name] for name in ("abandoned", "garbled", "refused")) > 0


# ---- the file


@pytest.fixture
def file(folder, ref):
    with ref.share("named"):
        yield folder / "named.inbox"


def refused(match):
    with pytest.raises(ActorError, match=match):
        actors.connect("named")


@pytest.mark.parametrize(
    "data", [b"", b"{", b"\xff\x00", b"[1, 2]", b'{"process": 1}', b"x" * 5000]
)
def test_files_that_are_cut_short_or_garbage(file, data):
    file.write_bytes(data)
    refused("describes no inbox: it is cut short or overwritten")


@pytest.mark.parametrize("name", ["process", "start", "space", "file"])
@pytest.mark.parametrize("value", [-1, 2**63, "1", 1.5, None, True])
def test_files_with_other_numbers(file, name, value):
    file.write_text(json.dumps(json.loads(file.read_text()) | {name: value}))
    refused("its numbers are none")


def test_files_of_other_processes(file):
    """What is there is not the inbox that the file tells of."""
    entry = json.loads(file.read_text())

    def forge(**changes):
        made = entry | changes
        own_entries.add(Entry(**made))  # as of another process, which would live
        file.write_text(json.dumps(made))

    forge(space=entry["space"] + 1)
    refused("of another namespace")
    forge(file=10**6)
    refused("cannot be opened")
    read, write = os.pipe()
    forge(file=read)
    refused("is no plain file|cannot be opened")
    os.close(read)
    os.close(write)
    secret = os.memfd_create("secret")
    os.fchmod(secret, 0o600)
    forge(file=secret)
    refused("is cut short")
    os.ftruncate(secret, 4096)
    refused("is no inbox of this version")
    os.close(secret)
    forge()
    actors.connect("named").close()
    own_entries.intersection_update([Entry(**entry)])


def test_symbolic_links_are_not_followed(file, tmp_path):
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    refused("cannot be read")


@pytest.mark.parametrize("mode", [0o644, 0o620, 0o606])
def test_files_that_others_may_open(file, mode):
    file.chmod(mode)
    refused(f"has the mode {mode:o}; 600 is required")


def test_what_is_no_file(file):
    file.unlink()
    os.mkfifo(file, 0o600)
    refused("is no plain file")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a file to another user")
def test_files_of_other_users(file):
    os.chown(file, 12345, 12345)
    refused("is of the user 12345")


def test_folders_that_others_may_write_to(file, folder, ref):
    folder.chmod(0o777)
    refused("is no folder of this user alone")
    folder.chmod(0o700)


def test_files_and_memory_are_this_users_alone(file, folder):
    assert file.stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700
    memory = Memory(folder, "named")
    assert os.fstat(memory.file).st_mode & 0o777 == 0o600
    memory.close()


def test_a_runtime_ends_whatever_others_do_to_the_folder(folder):
    """The actors end, and so does the runtime."""
    for harm in (
        lambda: folder.chmod(0o777),
        lambda: (folder / "harm.inbox").unlink(),
        lambda: folder.rename(folder.with_name("elsewhere")),
    ):
        with actors.Runtime(device="cpu", workers=1) as made:
            there = made.launch(total)
            share = there.share("harm")
            harm()
            share.close()
            there.terminate()
        if folder.exists():
            folder.chmod(0o700)


def test_a_lock_that_another_process_keeps(folder, ref):
    import fcntl

    from gridlane.actors.processes.inboxes import Folder

    share = ref.share("held")
    lock = os.open(folder / "lock", os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with (
        Folder() as there,
        pytest.raises(ActorError, match="another process keeps"),
        there.locked(0.05),
    ):
        pass
    actors.connect("held").close()
    share.close()
    os.close(lock)
    assert (folder / "held.inbox").exists()
    with pytest.raises(ActorError, match="has ended or closed it; what it left is removed"):
        actors.connect("held")
    assert not (folder / "held.inbox").exists()


def test_locks_that_are_links(folder, ref, tmp_path):
    ref.share("first").close()
    (folder / "lock").unlink()
    (folder / "lock").symlink_to(tmp_path / "victim")
    with pytest.raises(ActorError, match="cannot be opened"):
        ref.share("second")
    assert not (tmp_path / "victim").exists()


def test_connections_that_are_dropped_give_their_seats_back(ref):
    with ref.share("drop", peers=1) as share:
        there = actors.connect("drop")
        assert there.send(Number(1))
        del there
        assert share.metrics()["seats"] == 0
        actors.connect("drop").close()
