"""A case of the fuzzer: PTX that gives an error of gridlane's, or results that devices share."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.frontends.ptx.fuzz.programs import Program, width
from tests.frontends.ptx.fuzz.units import Units
from tests.frontends.ptx.model_numbers import FORMATS, is_nan

import gridlane
from gridlane.core.errors import GridlaneError, PtxError
from gridlane.core.options import KernelOptions
from gridlane.cuda.raw.module import RawModule
from gridlane.frontends.ptx import PtxModule, PtxSource, parse_ptx
from gridlane.frontends.ptx.linking import link
from gridlane.ir.types import PointerType
from gridlane.ir.verifier import verify

READING_S, PROGRAM_S, CHANGED_S = 10.0, 20.0, 2.0
"""Seconds of the processor: for reading a text, and for the interpreter to run a program and a
changed text, which may have no end."""
BYTES = 4096
"""Of the memory behind each parameter of changed texts."""
UNSURE = (".shared", ".local", "approx", ".full", "tanh", "ex2", "lg2", "sin.", "cos.", "nanosleep")
"""What leaves the results of a changed text open: memory that nothing wrote, and approximations."""


class Finding(Exception):
    """What must not be: another exception, another result, too long a time."""


class TooLongError(Exception):
    """A case has used up its time."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """End what is inside by ``TooLongError`` after seconds of the processor, in the main thread."""

    def stop(*_: Any) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def read(*units: str) -> PtxModule | None:
    """The module with all its kernels translated; None where the text, or one of several units, is
    refused."""
    start = time.process_time()
    try:
        with limited(READING_S):
            module = link([parse_ptx(text) for text in units]).module
            for name in module.entries:
                verify(PtxSource(module, name).translate((), KernelOptions()))
    except PtxError as error:
        str(error)
        module = None
    except TooLongError:
        raise Finding("reading takes too long") from None
    except Exception as error:
        raise Finding(f"{type(error).__name__}: {error}") from error
    if time.process_time() - start > READING_S:
        raise Finding(f"reading takes {time.process_time() - start:.0f} s")
    return module


def run_program(program: Program) -> str:
    """Compare a program's results on two devices; what came of it."""
    module = read(program.text)
    if module is None:
        raise Finding("a program of forms that the table has is refused")
    made: list[list[np.ndarray]] = []
    for device in ("interp", "cpu"):
        arrays = program.arrays()
        try:
            with _patience(device, PROGRAM_S):
                told = _launched(device, module, "k", program.grid, program.block, tuple(arrays))
        except TooLongError:
            raise Finding(f"{device}: a run takes too long") from None
        if told:
            raise Finding(f"{device}: {told}")
        made.append(arrays)
    (_, ours, counts), (_, theirs, more) = made
    for kind, row, other in zip(program.kinds, ours, theirs, strict=True):
        for thread, (a, b) in enumerate(zip(row.tolist(), other.tolist(), strict=True)):
            if not _same(kind, a, b):
                raise Finding(f"{kind} of thread {thread}: interp {a:#x}, cpu {b:#x}")
    if not np.array_equal(counts, more):
        raise Finding(f"counts: interp {counts}, cpu {more}")
    return "equal"


def _same(kind: str, a: int, b: int) -> bool:
    if a == b or kind == "pred":
        return a == b
    mask = (1 << width(kind)) - 1
    a, b = a & mask, b & mask
    if kind.endswith("x2"):
        half = kind.removesuffix("x2")
        bits = width(kind) // 2
        low = (1 << bits) - 1
        return _same(half, a & low, b & low) and _same(half, a >> bits, b >> bits)
    of = FORMATS.get(kind)
    return a == b or (of is not None and is_nan(a, of) and is_nan(b, of))


def run_units(program: Units) -> str:
    """Compare what a program of several units computes with the rules; what came of it."""
    try:
        module = link([parse_ptx(text) for text in program.texts]).module
    except Exception as error:
        raise Finding(f"{type(error).__name__}: {error}") from error
    for name, results in program.results.items():
        out = np.zeros(max(1, len(results or ())), np.uint32)
        told = _launched("interp", module, name, 1, 1, (out,))
        if results is None:
            if "nothing defines it" not in told:
                raise Finding(f"{name} runs, and what it reads is not defined: {told}")
        elif told or out[: len(results)].tolist() != results:
            raise Finding(f"{name}: {out.tolist()}, and not {results} {told}")
    return "equal"


def run_changed_units(texts: list[str]) -> str:
    """Link units of any text; what came of it."""
    return "refused" if read(*texts) is None else "linked"


def run_text(text: str) -> str:
    """Compare what any text does with one thread; what came of it."""
    module = read(text)
    if module is None:
        return "refused"
    outcome = "no kernel"
    for name in module.entries[:3]:
        outcome = _run_entry(text, module, name)
    return outcome


def _run_entry(text: str, module: PtxModule, name: str) -> str:
    shape = module.functions[name].tuning.get("reqntid", (1,))
    made: list[list[Any]] = []
    for device in ("interp", "cpu"):
        args = _arguments(module, name)
        try:
            with _patience(device, CHANGED_S):
                told = _launched(device, module, name, 1, tuple(shape), tuple(args))
        except TooLongError:
            return "endless"
        if told:
            return "stopped"  # before the CPU runs it, whose memory is the process's
        made.append(args)
    if any(word in text for word in UNSURE) or shape != (1,):
        return "run"
    if _equal(*made):
        return "equal"
    again = _arguments(module, name)
    _launched("interp", module, name, 1, tuple(shape), tuple(again))
    if _equal(made[0], again):
        raise Finding(f"{name}: results differ")
    return "run"  # the results follow from addresses, which differ from launch to launch


def _equal(first: list[Any], second: list[Any]) -> bool:
    pairs = zip(first, second, strict=True)
    return all(_same_bytes(a, b) for a, b in pairs if isinstance(a, np.ndarray))


def _same_bytes(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether arrays are equal, but for NaN."""
    differs = np.flatnonzero(a != b)
    for at in differs.tolist():
        x, y = (each[at : at + 1] for each in (a, b))
        pairs = [(x.view(of), y.view(of)) for of in (np.float32, np.float64)]
        if not any(np.isnan(p).any() and np.isnan(q).any() for p, q in pairs):
            return False
    return True


def _arguments(module: PtxModule, name: str) -> list[Any]:
    made: list[Any] = []
    numbers = np.random.default_rng(7)
    kernel = PtxSource(module, name).translate((), KernelOptions()).kernel
    pointers = {each.argument for each in kernel.params if isinstance(each.value.type, PointerType)}
    for number, param in enumerate(module.functions[name].params):
        if param.is_array:
            made.append(bytes(param.size))
        elif number in pointers:
            made.append(numbers.integers(0, 1 << 62, BYTES // 8, dtype=np.uint64))
        elif param.type[0] == "f":
            made.append(np.array(1.5, f"f{param.size}")[()])
        else:
            made.append(np.array(number + 3, f"u{param.size}")[()])
    return made


def _launched(
    device: str, module: PtxModule, name: str, grid: int, block: Any, args: tuple[Any, ...]
) -> str:
    """Run a kernel; why it stopped, or ""."""
    try:
        with gridlane.device(device):
            RawModule(code=module.text.text).get_function(name)(grid, block, args)
    except GridlaneError as error:
        return f"{type(error).__name__}: {error}"
    except TooLongError:
        raise
    except (RuntimeError, IndexError) as error:
        if "trap" in str(error) or device == "interp":
            return str(error)
        raise Finding(f"{device}: {type(error).__name__}: {error}") from error
    except Exception as error:
        raise Finding(f"{device}: {type(error).__name__}: {error}") from error
    return ""


def _patience(device: str, seconds: float) -> contextlib.AbstractContextManager[None]:
    # What the CPU runs cannot be interrupted from here: the parent process ends it.
    return limited(seconds) if device == "interp" else contextlib.nullcontext()
