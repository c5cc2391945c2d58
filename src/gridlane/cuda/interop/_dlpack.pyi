"""See dlpack_python.py, which has the same in Python."""

from typing import Any

def export(
    owner: Any,
    address: int,
    device: tuple[int, int],
    element: tuple[int, int],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    flags: int | None,
    /,
) -> Any: ...

class Tensor:
    def __init__(self, capsule: Any, /) -> None: ...
