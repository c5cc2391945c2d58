"""See launcher.py, which has the same in Python."""

from collections.abc import Callable
from typing import Any

INTERFACE: int

class Launcher:
    def _install(
        self,
        matchers: tuple[tuple[int, Any, Any, int, int], ...],
        size: int,
        launch: int,
        function: int,
        geometry: tuple[int, int, int, int, int, int],
        shared: int,
        stream: int,
        flag: int,
        sound: int,
        keep: Any,
        target: Any = None,
        result: Any = None,
        streams: Callable[[], int] | None = None,
        maps: tuple[Any, ...] | None = None,
        /,
    ) -> None: ...
    def _name(
        self,
        names: tuple[str, ...],
        defaults: tuple[Any, ...],
        parameters: int,
        positional: int,
        absent: Any,
        hooks: list[Any],
        /,
    ) -> None: ...
    def _guard(self, guards: tuple[tuple[Any, str | None, Any], ...], /) -> None: ...
    def _over(self, grid: Any, /) -> Any: ...
    @staticmethod
    def _seen(array: Any, /) -> tuple[int, Any, int]: ...
    def _forget(self) -> None: ...
    def _go(self, hot: Callable[[Any, tuple[Any, ...]], None], /) -> None: ...
    @staticmethod
    def _select(number: int, /) -> None: ...
    @staticmethod
    def _record(lists: tuple[Any, ...] | None, /) -> None: ...
    @staticmethod
    def _redirect(stream: int | None, /) -> int | None: ...
    @staticmethod
    def _note(launches: list[Any] | None, /) -> list[Any] | None: ...
    @staticmethod
    def _query_captures(address: int, /) -> None: ...
    def __call__(self, *args: Any) -> None: ...

class Calls:
    def __new__(cls, of_numpy: type, of_device: type, /) -> Calls: ...
    def keep(
        self,
        args: tuple[Any, ...],
        kinds: tuple[int, ...],
        work: Any,
        rest: Callable[[int, tuple[Any, ...]], None] | None,
        streams: Callable[[], int] | None,
        is_direct: bool,
        /,
    ) -> bool: ...
    def forget(self) -> None: ...
    def __call__(self, *args: Any) -> bool: ...
