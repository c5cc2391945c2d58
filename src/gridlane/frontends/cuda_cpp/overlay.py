"""The user's headers as clang is to read them: what differs from the files is laid over them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from gridlane.frontends.cuda_cpp.source_and_ptx import translated

_INCLUDED = re.compile(r"^[ \t]*#[ \t]*include[ \t]*([\"<])([^\">\n]+)[\">]", re.MULTILINE)


def overlay(code: str, beside: Path, folders: Sequence[str], room: Path) -> list[str]:
    """The options by which clang reads the translated texts of the headers that a source includes.

    Args:
        beside: the folder of the source.
        folders: those of the user's headers.
        room: a folder for the texts, which lives as long as clang runs.
    """
    rows: list[dict[str, str]] = []
    for path, text in headers(code, beside, folders):
        new_text = translated(text)
        if new_text != text:
            copy = room / f"header-{len(rows)}"
            copy.write_bytes(new_text.encode(errors="surrogateescape"))
            rows.append({"type": "file", "name": path, "external-contents": str(copy)})
    if not rows:
        return []
    listed = room / "overlay.json"
    listed.write_text(json.dumps({"version": 0, "use-external-names": False, "roots": rows}))
    return ["-ivfsoverlay", str(listed)]


def headers(code: str, beside: Path, folders: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The user's headers that a source names, by their paths, with their texts; those as well that
    it includes under conditions alone."""
    waiting = [(code, beside)]
    seen: set[str] = set()
    while waiting:
        text, folder = waiting.pop()
        for quote, name in _INCLUDED.findall(text):
            near = (str(folder), str(beside)) if quote == '"' else ()
            path = _found(name, (*near, *folders))
            if path is None or path in seen:
                continue
            seen.add(path)
            read = Path(path).read_bytes().decode(errors="surrogateescape")
            yield path, read
            waiting.append((read, Path(path).parent))


def _found(name: str, folders: Sequence[str]) -> str | None:
    for folder in folders:
        path = os.path.abspath(os.path.join(folder, name))
        if os.path.isfile(path):
            return path
    return None
