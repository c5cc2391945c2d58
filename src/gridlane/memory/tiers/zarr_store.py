"""A store of blocks as one of zarr's, which this module needs; the package does not import it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from typing import Any

from zarr.abc.store import (
    ByteRequest,
    OffsetByteRequest,
    RangeByteRequest,
    Store,
    SuffixByteRequest,
)
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype

from gridlane.memory.tiers.arguments import Location
from gridlane.memory.tiers.store import BlockStore


class ZarrStore(Store):
    """Chunks and metadata of zarr in a ``BlockStore``.

    Each read looks for what other processes have stored. Chunks are durable after ``flush`` or
    ``close``. zarr compresses chunks itself, so the default codec is ``raw``.

    Args:
        paths: as those of ``BlockStore``: a folder or several, with or without quotas.
        read_only: whether zarr refuses writes.
        options: keyword arguments of ``BlockStore``.

    >>> import tempfile, zarr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = ZarrStore(folder)
    ...     zarr.create_array(store, shape=(4,), dtype="i4")[:] = [1, 2, 3, 4]
    ...     store.close()
    ...     print(zarr.open_array(ZarrStore(folder, read_only=True))[1:3])
    [2 3]
    """

    def __init__(
        self, paths: Location | Iterable[Location], *, read_only: bool = False, **options: Any
    ) -> None:
        super().__init__(read_only=read_only)
        self.paths = paths if isinstance(paths, tuple | str) else _plain(paths)
        self.options = {"codec": "raw", **options}
        self._shared: list[BlockStore] = []

    @property
    def blocks(self) -> BlockStore:
        """The store of blocks, opened at its first use."""
        if not self._shared:
            options: dict[str, Any] = {"mode": "r" if self.read_only else "w", **self.options}
            self._shared.append(BlockStore(self.paths, **options))
        return self._shared[0]

    @property
    def supports_writes(self) -> bool:
        """Whether it stores."""
        return True

    @property
    def supports_deletes(self) -> bool:
        """Whether it deletes."""
        return True

    @property
    def supports_listing(self) -> bool:
        """Whether it lists keys."""
        return True

    def with_read_only(self, read_only: bool = False) -> ZarrStore:
        """The same store with other rights."""
        other = type(self)(self.paths, read_only=read_only, **self.options)
        if not self.read_only:  # blocks that are opened to write can be read as well
            _ = self.blocks
            other._shared = self._shared
        return other

    def flush(self) -> None:
        """Wait until all chunks are on disk."""
        self.blocks.flush()

    def close(self) -> None:
        """Flush, and let go of the folders."""
        while self._shared:
            self._shared.pop().close()
        super().close()

    def __eq__(self, value: object) -> bool:
        return (
            isinstance(value, ZarrStore)
            and (self.paths, self.options) == (value.paths, value.options)
            and self.read_only == value.read_only
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return f"ZarrStore({self.paths!r})"

    __str__ = __repr__

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_shared": []}

    async def _open(self) -> None:
        await super()._open()
        _ = self.blocks

    def get_sync(
        self,
        key: str,
        *,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        """As ``get``."""
        self.blocks.refresh()
        data = self.blocks.get(key)
        if data is None:
            return None
        part = memoryview(data)[_slice(byte_range, len(data))]
        return (prototype or default_buffer_prototype()).buffer.from_bytes(bytes(part))

    def set_sync(self, key: str, value: Buffer) -> None:
        """As ``set``."""
        self._check_writable()
        if not isinstance(value, Buffer):
            raise TypeError(f"ZarrStore.set(): `value` must be a Buffer, not {type(value)}")
        self.blocks.put(key, value.as_numpy_array())

    async def get(
        self,
        key: str,
        prototype: BufferPrototype | None = None,
        byte_range: ByteRequest | None = None,
    ) -> Buffer | None:
        """The bytes of a key, or a part of them; None if there are none."""
        if not self._is_open:
            await self._open()
        return await asyncio.to_thread(
            self.get_sync, key, prototype=prototype, byte_range=byte_range
        )

    def delete_sync(self, key: str) -> None:
        """As ``delete``."""
        self._check_writable()
        self.blocks.refresh()
        with suppress(KeyError):  # zarr's stores have no error for it
            self.blocks.delete(key)

    async def get_partial_values(
        self,
        prototype: BufferPrototype,
        key_ranges: Iterable[tuple[str, ByteRequest | None]],
    ) -> list[Buffer | None]:
        """Parts of several keys."""
        return [await self.get(key, prototype, part) for key, part in key_ranges]

    async def exists(self, key: str) -> bool:
        """Whether there are bytes of a key."""
        self.blocks.refresh()
        return key in self.blocks

    async def getsize(self, key: str) -> int:
        """The bytes of a key.

        Raises:
            FileNotFoundError: there are none.
        """
        self.blocks.refresh()
        try:
            return self.blocks.length(key)
        except KeyError:
            raise FileNotFoundError(key) from None

    async def set(self, key: str, value: Buffer) -> None:
        """Store the bytes of a key."""
        self._check_writable()
        await self._ensure_open()
        await asyncio.to_thread(self.set_sync, key, value)

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        """Store the bytes of a key that has none."""
        self._check_writable()
        await self._ensure_open()
        self.blocks.refresh()
        if key not in self.blocks:
            await asyncio.to_thread(self.set_sync, key, value)

    async def delete(self, key: str) -> None:
        """Delete a key, if it is there."""
        self._check_writable()
        await self._ensure_open()
        await asyncio.to_thread(self.delete_sync, key)

    async def list(self) -> AsyncIterator[str]:
        """All keys."""
        self.blocks.refresh()
        for key in self.blocks:
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """The keys that begin with some text."""
        async for key in self.list():
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """The names below a folder, without what is below them."""
        folder = prefix.rstrip("/")
        folder += "/" if folder else ""
        names: dict[str, None] = {}
        async for key in self.list_prefix(folder):
            names[key.removeprefix(folder).partition("/")[0]] = None
        for each in names:
            yield each


def _plain(paths: Any) -> Any:
    """Paths that can be compared and copied to other processes."""
    return paths if hasattr(paths, "__fspath__") else list(paths)


def _slice(part: ByteRequest | None, length: int) -> slice:
    if part is None:
        return slice(None)
    if isinstance(part, RangeByteRequest):
        return slice(part.start, part.end)
    if isinstance(part, OffsetByteRequest):
        return slice(part.offset, None)
    if isinstance(part, SuffixByteRequest):
        return slice(max(0, length - part.suffix), None)
    raise ValueError(f"Unexpected byte_range, got {part!r}")
