"""Other processes, forked; and the memory of an inbox as a hostile one sees it."""

from __future__ import annotations

import json
import mmap
import os
import struct
import traceback

from gridlane.actors.layouts.blocks import InboxHeader, MessageHeader
from gridlane.actors.layouts.shared import Seat, SharedInbox

HEADS = 2 * InboxHeader.size + SharedInbox.size


def fork(work):
    """The number of a process that does some work; its status is 0 if that raises nothing."""
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def status_of(process):
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


class Memory:
    """The memory of an inbox, writable at any place."""

    def __init__(self, folder, name):
        entry = json.loads((folder / f"{name}.inbox").read_text())
        self.file = os.open(f"/proc/{entry['process']}/fd/{entry['file']}", os.O_RDWR)
        self.map = mmap.mmap(self.file, 0)
        shared = self.fields(SharedInbox, 2 * InboxHeader.size)
        self.seats, self.payload = shared["seats"], shared["payload_bytes"]
        inbox = self.fields(InboxHeader, 0)
        self.capacity, self.slot_bytes = inbox["capacity"], inbox["slot_bytes"]
        self.token, self.type = inbox["token"], shared["type"]
        step = -(-shared["reply_bytes"] // 64) * 64
        self.slots = HEADS + self.seats * (Seat.size + step)

    def close(self):
        self.map.close()
        os.close(self.file)

    def fields(self, layout, offset):
        return {
            each.name: int.from_bytes(self.map[offset + each.offset : offset + each.end], "little")
            for each in layout.fields
        }

    def write(self, offset, form, *values):
        self.map[offset : offset + struct.calcsize(form)] = struct.pack("<" + form, *values)

    def word(self, slot, kind, seat, lap):
        """Set the word of a slot."""
        place = self.slots + slot * self.slot_bytes + MessageHeader["sequence"].offset
        self.write(place, "Q", kind << 60 | seat << 48 | lap)

    def kind(self, slot):
        place = self.slots + slot * self.slot_bytes + MessageHeader["sequence"].offset
        return int.from_bytes(self.map[place : place + 8], "little") >> 60

    def message(self, slot, payload, **changes):
        """Write a message, but for its word."""
        base = self.slots + slot * self.slot_bytes
        values = {
            "magic": 0x474C4D53,
            "version": 1,
            "type": self.type,
            "payload_bytes": self.payload,
            "token": self.token,
        } | changes
        token = values.pop("token")
        for name, value in values.items():
            field = MessageHeader[name]
            self.map[base + field.offset : base + field.end] = value.to_bytes(field.size, "little")
        self.write(base + MessageHeader["reserved"].offset, "Q", token)
        place = base + MessageHeader.size
        self.map[place : place + len(payload)] = payload

    def tail(self, value):
        self.write(InboxHeader["tail"].offset, "Q", value)

    def call(self, seat):
        """The number of a seat's call whose answer is awaited; 0 if there is none."""
        place = HEADS + seat * Seat.size
        return int.from_bytes(self.map[place + 8 : place + 15], "little")

    def owner(self, seat, value=None):
        """The owner of a seat, which is set."""
        place = HEADS + seat * Seat.size
        if value is not None:
            self.write(place, "Q", value)
        return int.from_bytes(self.map[place : place + 8], "little")
