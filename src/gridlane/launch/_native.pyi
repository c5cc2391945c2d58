"""See launcher.py, which has the same in Python."""

from collections.abc import Callable
from typing import Any

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
        /,
    ) -> None: ...
    def _forget(self) -> None: ...
    def _go(self, hot: Callable[[Any, tuple[Any, ...]], None], /) -> None: ...
    @staticmethod
    def _select(number: int, /) -> None: ...
    def __call__(self, *args: Any) -> None: ...
