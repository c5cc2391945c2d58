"""The arguments of stores: folders, names and buffers."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from gridlane.core.errors import StoreUnavailable
from gridlane.memory.tiers.folders import Folder
from gridlane.memory.tiers.records import LARGEST_BLOCK, LONGEST_KEY

Location = str | os.PathLike[str] | tuple[str | os.PathLike[str], int | None]
"""A folder, or a folder and its quota in bytes."""


def opened(paths: Location | Iterable[Location], make: bool) -> list[Folder]:
    """The folders of a store.

    Args:
        paths: a folder or several, with or without quotas.
        make: whether folders are made.

    Raises:
        ValueError: there is none, one comes twice, or a quota is not positive.
        StoreUnavailable: a folder cannot be made.
    """
    several: list[Any]
    if isinstance(paths, str | os.PathLike):
        several = [paths]
    else:
        several = list(paths)
        if len(several) == 2 and (several[1] is None or isinstance(several[1], int)):
            several = [tuple(several)]
    if not several:
        raise ValueError("a store needs a folder")
    folders: list[Folder] = []
    for each in several:
        path, quota = each if isinstance(each, tuple) else (each, None)
        if quota is not None and quota < 1:
            raise ValueError(f"a quota of {quota} bytes for {path}")
        folder = Folder(Path(os.path.abspath(path)), quota)
        if make:
            try:
                folder.path.mkdir(mode=0o700, exist_ok=True)
            except OSError as error:
                raise StoreUnavailable(f"{path}: {error.strerror}") from error
        folders.append(folder)
    places = [os.path.realpath(each.path) for each in folders]
    if len(set(places)) < len(places):
        raise ValueError(f"a folder comes twice: {', '.join(places)}")
    return folders


def name_of(key: str) -> bytes:
    """The bytes of a block's name.

    Raises:
        TypeError: it is no str.
        ValueError: it is too long, or UTF-8 does not have its characters.
    """
    if not isinstance(key, str):
        raise TypeError(f"names of blocks are str, not {type(key).__name__}")
    name = key.encode()
    if len(name) > LONGEST_KEY:
        raise ValueError(f"a name of {len(name)} bytes; {LONGEST_KEY} are the most")
    return name


def flat(data: Any) -> tuple[memoryview, int]:
    """The bytes of a buffer, and the size of its elements.

    Raises:
        TypeError: it has no bytes.
        ValueError: it is not contiguous, or too large.
    """
    if isinstance(data, np.ndarray):  # not all types of numpy's have buffers
        if data.dtype.hasobject:
            raise TypeError("an array of Python objects has no bytes to store")
        itemsize, contiguous = data.itemsize, data.flags.c_contiguous
        view = data.reshape(-1).view(np.uint8).data if contiguous and data.size else None
        length = data.nbytes
    else:
        buffer = memoryview(data)
        itemsize, contiguous, length = buffer.itemsize, buffer.c_contiguous, buffer.nbytes
        view = buffer.cast("B") if contiguous and length else None
    if not contiguous:
        raise ValueError("the buffer is not contiguous")
    if length > LARGEST_BLOCK:
        raise ValueError(f"a block of {length} bytes; {LARGEST_BLOCK} are the most")
    return (memoryview(bytearray()) if view is None else view), itemsize
