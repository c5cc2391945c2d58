"""Archives of object files, as ar writes them (libcudadevrt.a).

Source: ar(5): members with headers of 60 characters, at even places; GNU's archives keep long names
in a member of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gridlane.abi.failure import INVALID_IMAGE, fail

MAGIC = b"!<arch>\n"
_HEAD, _END = 60, b"`\n"
_TABLES = "/", "/SYM64/", "__.SYMDEF"
"""Members that list symbols."""
_NAMES = "//"


@dataclass(frozen=True, slots=True)
class Member:
    """A file of an archive."""

    name: str
    data: bytes = field(repr=False)


def members(data: bytes) -> list[Member]:
    """The files of an archive.

    Raises:
        Failure: INVALID_IMAGE, the bytes are no whole archive.
    """
    if not data.startswith(MAGIC):
        fail(INVALID_IMAGE, f"no archive: it begins with {data[:8]!r}")
    collected: list[Member] = []
    names, position = b"", len(MAGIC)
    while position < len(data):
        head = data[position : position + _HEAD]
        size = head[48:58].strip()
        if len(head) < _HEAD or head[58:] != _END or not size.isdigit():
            fail(INVALID_IMAGE, f"the archive has no member's header at byte {position}")
        start, position = position + _HEAD, position + _HEAD + int(size)
        if position > len(data):
            fail(INVALID_IMAGE, f"the archive ends at byte {len(data)}, in a member of {int(size)}")
        name, content = head[:16].decode(errors="replace").rstrip(), data[start:position]
        position += position % 2
        if name == _NAMES:
            names = content
        elif name not in _TABLES:
            collected.append(Member(_title(name, names), content))
    return collected


def _title(name: str, names: bytes) -> str:
    if name.startswith("/") and name[1:].isdigit():
        text = names[int(name[1:]) :].partition(b"\n")[0]
        name = text.decode(errors="replace")
    return name.removesuffix("/")
