"""Run a case on the device and on the interpreter, and judge it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gridlane.backends import backend
from gridlane.cli.selftest.cases import Case
from gridlane.conformance.compiling import compiled
from gridlane.core.artifact import Artifact
from gridlane.core.errors import CompileError, DeviceError, KernelError
from gridlane.core.frozen import frozen
from gridlane.launch.kernel import Kernel
from gridlane.launch.packing import packer
from gridlane.launch.plan import Plan

RIGHT, CLOSE, SUBNORMAL, REFUSED, WRONG, FAILED = (
    "right", "close", "but subnormals", "refused", "WRONG", "FAILED",
)  # fmt: skip
VERDICTS = (RIGHT, CLOSE, SUBNORMAL, REFUSED, WRONG, FAILED)
PAIR_ERROR = 2.0**-40
"""The error bound of targets that compute float64 in pairs of float32."""


@frozen
class Row:
    """A line of the table."""

    case: str
    row: str
    types: str
    verdict: str
    detail: str = ""


@dataclass(slots=True)
class Result:
    """The results of a run."""

    array: np.ndarray
    raised: str
    lines: list[str]


class _Array(NamedTuple):
    """An argument in the device's memory, as ``packer`` reads it."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def rows(case: Case, device: Any, reference: Any, launch: bool = True) -> Iterator[Row]:
    """Try a case.

    Args:
        device, reference: as runtime.protocol.Device.
        launch: False tests only whether the device's compiler accepts the code.
    """
    source, result = case.types
    types = source if source == result else f"{source}, {result}"

    def all_rows(verdict: str, detail: str) -> list[Row]:
        return [Row(case.name, row, types, verdict, detail) for row in case.rows]

    kernel = Kernel(case.source, case.arguments(), compile=compiled)
    try:
        plan = kernel.plan(case.block_on(device), device=device)
        got = _run(plan, case, kernel) if launch else None
    except CompileError as error:
        yield from all_rows(REFUSED, _first_line(error))
        return
    except DeviceError as error:
        yield from all_rows(FAILED, _first_line(error))
        return
    if got is None:
        yield from all_rows(RIGHT, "compiled")
        return
    wanted = _run(kernel.plan(case.block_on(reference), device=reference), case, kernel)
    if got.raised != wanted.raised or got.lines != wanted.lines:
        outcome = f"{got.raised or 'no error'}, {len(got.lines)} lines"
        yield from all_rows(WRONG, f"{outcome}; not {wanted.raised}, {len(wanted.lines)} lines")
        return
    inputs = case.arrays()[:2]
    for number, row in enumerate(case.rows):
        verdict, detail = judged(
            got.array[number], wanted.array[number], inputs, case, plan.kernel.artifact
        )
        yield Row(case.name, row, types, verdict, detail)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0].replace("|", "/")


def _run(plan: Plan, case: Case, kernel: Kernel) -> Result:
    device, arrays = plan.device, case.arrays()
    buffers = [device.allocate(array.nbytes) for array in arrays]
    for buffer, array in zip(buffers, arrays):
        device.upload(buffer.address, _octets(array))
    raised, said = "", io.StringIO()
    with redirect_stdout(said):
        try:
            given = [_Array(b.address, a.shape, a.strides) for a, b in zip(arrays, buffers)]
            params = packer(plan.parameters, given)(*given)
            kernel.fitting(plan, case.grid, params).launch(case.grid, params, case.shared)
            device.synchronize()
        except KernelError as error:
            raised = type(error).__name__
    device.download(_octets(arrays[-1]), buffers[-1].address)
    return Result(arrays[-1], raised, sorted(said.getvalue().splitlines()))


def _octets(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


# --- judging ---


def judged(
    got: np.ndarray, wanted: np.ndarray, inputs: list[np.ndarray], case: Case, artifact: Artifact
) -> tuple[str, str]:
    """The verdict on one row, and a remark."""
    if got.dtype.kind != "f":
        apart = np.flatnonzero(got != wanted)
        return (WRONG, _example(got, wanted, inputs, apart)) if len(apart) else (RIGHT, "")
    pairs = not backend(artifact.target).float64 and "float64" in case.types
    if pairs and got.itemsize == 8:
        return _judged_pairs(got, wanted, inputs)
    distance = ulps(got, wanted)
    apart = np.flatnonzero(distance > case.ulp)
    if not len(apart):
        worst = int(distance.max())
        return (CLOSE, f"{worst} ulp at most") if worst else (RIGHT, "")
    tiny = np.finfo(got.dtype).tiny
    columns = [each for each in (*inputs, wanted) if each.dtype == wanted.dtype]
    subnormal = np.logical_or.reduce([(abs(each) < tiny) & (each != 0) for each in columns])
    if subnormal[apart].all():
        return SUBNORMAL, f"{len(apart)} values with subnormal numbers differ"
    return WRONG, _example(got, wanted, inputs, apart)


def _judged_pairs(got: np.ndarray, wanted: np.ndarray, inputs: list[np.ndarray]) -> tuple[str, str]:
    """Judge float64 in pairs of float32: 44 bits and the exponents of float32."""
    same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    with np.errstate(all="ignore"):
        error = np.where(same, 0, abs(got - wanted) / abs(wanted))
    columns = [each for each in (*inputs, wanted) if each.dtype == wanted.dtype]
    beyond = np.logical_or.reduce(
        [(abs(each) > 1e37) | ((abs(each) < 1e-24) & (each != 0)) for each in columns]
    )
    apart = np.flatnonzero(~(error <= PAIR_ERROR) & ~beyond)
    if len(apart):
        return WRONG, _example(got, wanted, inputs, apart)
    if same.all():
        return RIGHT, ""
    return CLOSE, f"in pairs of float32, error {np.where(beyond, 0, error).max():.0e}"


def ulps(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Distances in units in the last place; all NaNs are equal, zeros of either sign differ."""
    signed = np.dtype(f"i{got.itemsize}")
    codes = []
    for array in (got, wanted):
        raw = array.view(signed).astype(object)
        codes.append(np.where(raw < 0, -(raw + 2 ** (8 * got.itemsize - 1)) - 1, raw))
    distance = abs(codes[0] - codes[1])
    nan = np.isnan(got), np.isnan(wanted)
    return np.where(nan[0] & nan[1], 0, np.where(nan[0] | nan[1], 2**31, distance))


def _example(
    got: np.ndarray, wanted: np.ndarray, inputs: list[np.ndarray], apart: np.ndarray
) -> str:
    index = int(apart[0])
    of = ", ".join(str(each[index]) for each in inputs if index < len(each))
    return f"{len(apart)} of {got.size}: {got[index]}, not {wanted[index]}, of {of}"
