"""``tiles.tune``: the fastest constants and options of a tile program, by measurement."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from gridlane.backends import backend
from gridlane.core.encoding import NotEncodable
from gridlane.cuda.kernels.tuning import numbers_of, on_device, outputs_of, shape_class
from gridlane.frontends.triton.fingerprint import constant_bytes, fingerprint
from gridlane.launch import current
from gridlane.tiles.grids import grid_of
from gridlane.tiles.jit import JITFunction
from gridlane.tiles.programs import Options, Program
from gridlane.tiles.wrappers import TensorWrapper
from gridlane.tuning import classes, memory
from gridlane.tuning.errors import TuningError
from gridlane.tuning.estimates import microseconds
from gridlane.tuning.schedules import Schedules
from gridlane.tuning.search import MOST, SECONDS
from gridlane.tuning.spaces import Candidate, Space
from gridlane.tuning.work import work_of

_OPTIONS = {"num_warps", "num_stages", "num_ctas", "maxnreg"}
"""What a host device's code and launches do not depend on."""


class TunedProgram(Schedules):
    """A program that is launched with the fastest of its schedules; see ``Schedules``.

    Args:
        program: of ``tiles.jit``.
        space: values of its constants, and of options of launches.
        grid: programs along each axis, or a function of the arguments by name.
        keywords: further constants and options of each launch.
        options: of ``tuning.search.tune``.
    """

    def __init__(
        self,
        program: JITFunction,
        space: Space,
        grid: Any,
        keywords: Mapping[str, Any],
        **options: Any,
    ) -> None:
        super().__init__(space, **options)
        known = {*program.arg_names, *Options._fields}
        unknown = [name for name in space.parameters if name not in known]
        if unknown:
            names = ", ".join(program.arg_names)
            raise TuningError(
                f"tune: {unknown[0]!r} is no parameter of {program.__name__}({names}), and no "
                f"option, {', '.join(Options._fields)}"
            )
        twice = [name for name in keywords if name in space.parameters]
        if twice:
            raise TuningError(f"tune: {twice[0]!r} is given, and a parameter of the space")
        self.program, self.grid, self.keywords = program, grid, dict(keywords)

    def subject(self, args: tuple[Any, ...]) -> ProgramSubject:
        """The program with arguments."""
        return ProgramSubject(self, args)

    def launch(self, candidate: Candidate, args: tuple[Any, ...]) -> None:
        """Launch a candidate."""
        self.program[self.grid](*args, **self.keywords, **candidate.named)


class ProgramSubject:
    """A program with arguments; see ``tuning.search.Subject``."""

    fastmath = False

    def __init__(self, tuned: TunedProgram, args: tuple[Any, ...]) -> None:
        self.tuned, self.args = tuned, on_device(args)
        self.name = tuned.program.__name__
        self.arrays = memory.arrays_in([_whole(each) for each in self.args])
        _, bound = self._program(tuned.space.plain)
        shown = [
            f"{name}={bound[name]!r}" if each.is_constant else _class_of(bound[name])
            for name, each in zip(tuned.program.arg_names, tuned.program.parameters, strict=True)
            if name not in tuned.space.parameters
        ]
        self.shapes = ", ".join(shown)

    def _program(self, candidate: Candidate) -> tuple[Program, dict[str, Any]]:
        return self.tuned.program.program_for(self.args, {**self.tuned.keywords, **candidate.named})

    @property
    def source(self) -> bytes:
        """The program's text with what it reads, and the constants and options of launches."""
        tuned = self.tuned
        _, bound = self._program(tuned.space.plain)
        try:
            parts = [fingerprint(tuned.program, placed=False), constant_bytes(tuned.keywords)]
            for name, each in zip(tuned.program.arg_names, tuned.program.parameters, strict=True):
                if each.is_constant and name not in tuned.space.parameters:
                    parts.append(constant_bytes(bound[name]))
        except NotEncodable:
            return b""
        return b"".join(parts)

    @property
    def outputs(self) -> frozenset[int]:
        """The arrays that programs write and do not read."""
        program, bound = self._program(self.tuned.space.plain)
        values = [*bound.values()]
        given = [_whole(values[number]) for number in program.runtime]
        return outputs_of(program.kernel.module, given, self.arrays)

    def prepare(self, candidate: Candidate) -> None:
        """Compile."""
        program, _ = self._program(candidate)
        program.plan(current.device())

    def launch(self, candidate: Candidate) -> None:
        """Launch a candidate."""
        self.tuned.launch(candidate, self.args)

    def estimate(self, candidate: Candidate) -> float:
        """By the user's function, or by the program's IR and the grid."""
        if self.tuned.rank is not None:
            return float(self.tuned.rank(**candidate.named))
        program, bound = self._program(candidate)
        grid = grid_of(self.tuned.grid, bound)
        values = [*bound.values()]
        numbers = numbers_of(tuple([values[number] for number in program.runtime]))
        block = program.block(current.device())
        work = work_of(program.kernel.module, numbers, grid, block)
        return microseconds(work, grid, block, current.device())

    def kind(self, candidate: Candidate) -> Hashable:
        """The values that code and launches depend on: a host device has no warps, and no copies in
        flight."""
        if not backend(current.device().target((1, 1, 1)).name).on_host:
            return candidate.values
        return tuple([pair for pair in candidate.values if pair[0] not in _OPTIONS])


def _whole(value: Any) -> Any:
    """The array of a wrapper with another type of elements."""
    return value.base if isinstance(value, TensorWrapper) else value


def _class_of(value: Any) -> str:
    if isinstance(value, TensorWrapper) or hasattr(value, "data_ptr"):
        return f"{value.dtype}{classes.of_shape(value.shape)}"
    return "None" if value is None else shape_class(value)


def tune(
    program: JITFunction,
    args: Sequence[Any],
    space: Mapping[str, Iterable[Any]],
    *,
    grid: int | tuple[int, ...] | Callable[[dict[str, Any]], Any],
    keywords: Mapping[str, Any] | None = None,
    seconds: float = SECONDS,
    most: int = MOST,
    plain: Mapping[str, Any] | None = None,
    where: Callable[..., bool] | None = None,
    tolerance: float | None = None,
    rank: Callable[..., float] | None = None,
) -> TunedProgram:
    """Find the fastest constants and options of a program for arguments, inside a deadline.

    It is ``cuda.tune`` for tile programs; ``autotune`` is Triton's way.

    Args:
        program: of ``tiles.jit``.
        args: the arguments, without the constants of the space.
        space: values of constants, and of ``num_warps`` and other options.
        grid: programs along each axis, or a function of the arguments by name.
        keywords: further constants and options of each launch.
        seconds, most, plain, where, tolerance, rank: see ``cuda.tune``.

    Raises:
        TuningError: there is no candidate, or no time, or the plain schedule does not end in it.
        CompilationError: the plain schedule is outside the language; located.

    >>> import numpy as np
    >>> from gridlane import tiles
    >>> tl = tiles.language
    >>> @tiles.jit
    ... def double(x, out, n, BLOCK: tl.constexpr):
    ...     i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ...     tl.store(out + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
    >>> x, out = np.arange(1000.0), np.zeros(1000)
    >>> tuned = tiles.tune(
    ...     double, (x, out, 1000), {"BLOCK": [128, 512]},
    ...     grid=lambda meta: tiles.cdiv(1000, meta["BLOCK"]), seconds=5,
    ... )
    >>> tuned(x, out, 1000)
    >>> float(out[999])
    1998.0
    """
    if not isinstance(program, JITFunction):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TuningError(f"tune: a program of tiles.jit is tuned, not {program!r}")
    made = Space(space, plain, where)
    tuned = TunedProgram(
        program, made, grid, keywords or {}, seconds=seconds, most=most, tolerance=tolerance,
        rank=rank,
    )  # fmt: skip
    tuned.tune(*args)
    return tuned
