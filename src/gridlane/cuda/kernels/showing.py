"""Kernels and configured launches as text and as HTML: what is known so far, as showing compiles
nothing."""

# pyright: reportPrivateUsage=false
# What kernels hide is hidden from users, not from this room.

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from gridlane.cuda.host.streams import Stream
from gridlane.cuda.kernels.kernel import Kernel
from gridlane.cuda.kernels.signatures import Types
from gridlane.launch import current
from gridlane.launch.dimensions import Dim3
from gridlane.launch.kernel import Code
from gridlane.runtime.protocol import Device, Figures

_MOST = 3
"""Signatures that a line of text has room for."""
_COLUMNS = (
    "signature", "device", "block", "code", "registers", "shared bytes", "local bytes", "made in",
)  # fmt: skip
_UNKNOWN = "-"


class Shown(Protocol):
    """What is shown of a dispatcher."""

    __name__: str
    overloads: dict[Types, Kernel]
    is_device_function: bool
    _parameters: tuple[str, ...]
    targetoptions: dict[str, Any]


class ShownLaunch(Protocol):
    """What is shown of a configured launch."""

    @property
    def dispatcher(self) -> Any:
        """The kernel."""
        ...

    griddim: Dim3
    blockdim: Dim3
    sharedmem: int
    stream: Any


# --- kernels ---


def kernel_text(dispatcher: Shown) -> str:
    """The ``repr`` of a kernel or device function."""
    kind = "device function" if dispatcher.is_device_function else "kernel"
    shown = f"{kind} {dispatcher.__name__}({', '.join(dispatcher._parameters)})"
    if dispatcher.is_device_function:
        return f"<{shown}>"
    known = list(dispatcher.overloads)
    if not known:
        return f"<{shown}, not compiled yet>"
    if len(known) > _MOST:
        return f"<{shown}, compiled for {len(known)} signatures>"
    return f"<{shown}, compiled for {' and '.join(map(_signature, known))}>"


def kernel_html(dispatcher: Shown) -> str:
    """What a notebook shows of a kernel or device function: a row for each code that is loaded."""
    from html import escape  # not at import: a script may be called html.py

    kind = "device function" if dispatcher.is_device_function else "kernel"
    names = ", ".join(dispatcher._parameters)
    options = _options(dispatcher.targetoptions)
    title = f"<b>{kind} {escape(dispatcher.__name__)}</b>({escape(names)}){escape(options)}"
    if dispatcher.is_device_function:
        return f"<div>{title}, compiled into the kernels that call it</div>"
    if not dispatcher.overloads:
        return f"<div>{title}, not compiled yet</div>"
    head = "".join(f"<th>{each}</th>" for each in _COLUMNS)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(each)}</td>" for each in row) + "</tr>"
        for types, kernel in tuple(dispatcher.overloads.items())
        for row in _rows(_signature(types), kernel)
    )
    return f"<div>{title}<table><tr>{head}</tr>{rows}</table></div>"


def _signature(types: Types) -> str:
    return f"({', '.join(map(str, types))})"


def _options(given: Mapping[str, Any]) -> str:
    """The options of ``jit`` that are on or have a value, as ``fastmath, max_registers=32``."""
    shown = [
        name if value is True else f"{name}={value!r}"
        for name, value in given.items()
        if value not in (None, False, (), [], "")
    ]
    return f" {', '.join(shown)}" if shown else ""


def _rows(signature: str, kernel: Kernel) -> Iterator[Sequence[str]]:
    codes = kernel.codes()
    if not codes:
        yield signature, *[_UNKNOWN] * (len(_COLUMNS) - 2), "not launched yet"
    for device, code in codes:
        yield signature, device.name, *_facts(device, code)


def _facts(device: Device, code: Code) -> Iterator[str]:
    """The rest of a row."""
    artifact, figures = code.kernel.artifact, _figures(code)
    yield "any" if artifact.block is None else _shape(artifact.block)
    yield f"{artifact.format}, {len(artifact.code):,} bytes"
    yield _UNKNOWN if figures is None else str(figures.registers)
    shared = artifact.static_shared if figures is None else figures.shared_bytes
    yield f"{shared:,}{' and those of the launch' if artifact.uses_dynamic_shared else ''}"
    yield _UNKNOWN if figures is None else f"{figures.local_bytes:,}"
    how = "" if code.is_compiled else ", from the disk cache"
    yield f"{code.nanoseconds / 1e6:,.1f} ms{how}"


def _figures(code: Code) -> Figures | None:
    try:
        return code.kernel.figures()
    except Exception:  # of a device that is lost: what shows an object raises nothing
        return None


# --- launches ---


def _shape(shape: Dim3) -> str:
    """``(64, 2, 1)`` as "64 x 2"."""
    while len(shape) > 1 and shape[-1] == 1:
        shape = shape[:-1]  # type: ignore[assignment]  # it is text next
    return " x ".join(f"{each:,}" for each in shape)


def _device(launch: ShownLaunch) -> str:
    """The device of a launch: its stream's, or this thread's."""
    stream = launch.stream
    return stream.native.device.name if isinstance(stream, Stream) else current.name()


def launch_text(launch: ShownLaunch) -> str:
    """The ``repr`` of a launch."""
    shape = f"grid={launch.griddim}, block={launch.blockdim}"
    more = f", sharedmem={launch.sharedmem}" if launch.sharedmem else ""
    more += f", stream={launch.stream!r}" if launch.stream.handle else ""
    return f"<launch of {launch.dispatcher.__name__}: {shape}{more}, device={_device(launch)!r}>"


def launch_html(launch: ShownLaunch) -> str:
    """What a notebook shows of a launch."""
    from html import escape  # not at import: a script may be called html.py

    blocks, threads = math.prod(launch.griddim), math.prod(launch.blockdim)
    facts = {
        "grid": f"{_shape(launch.griddim)} blocks",
        "block": f"{_shape(launch.blockdim)} threads",
        "threads": f"{blocks * threads:,}",
        "stream": repr(launch.stream) if launch.stream.handle else "default",
        "dynamic shared memory": f"{launch.sharedmem:,} bytes",
        "device": _device(launch),
    }
    rows = "".join(
        f"<tr><th>{name}</th><td>{escape(each)}</td></tr>" for name, each in facts.items()
    )
    name = escape(launch.dispatcher.__name__)
    return f"<div><b>launch of {name}</b><table>{rows}</table></div>"
