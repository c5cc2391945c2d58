"""``jit``: functions of tile programs that are launched over a grid."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from gridlane.core.errors import ArgumentError
from gridlane.core.forks import fork_waits
from gridlane.cuda.kernels.overlaps import Writebacks
from gridlane.frontends.triton.functions import TileFunction
from gridlane.launch import current
from gridlane.launch.dimensions import Dim3
from gridlane.tiles import knobs
from gridlane.tiles.arguments import (
    Described,
    describe,
    key_of,
    on_current_device,
    packed_form,
    parameters_of,
    short_name,
)
from gridlane.tiles.arguments import type_canonicalisation_dict as type_canonicalisation_dict
from gridlane.tiles.driver import current_target
from gridlane.tiles.errors import CompilationError, WrongOption
from gridlane.tiles.grids import grid_of
from gridlane.tiles.programs import CompiledKernel, Options, Program
from gridlane.tiles.repeated import Entry, binder, key_of_call, may_repeat
from gridlane.tiles.wrappers import TensorWrapper as TensorWrapper
from gridlane.tiles.wrappers import reinterpret as reinterpret

_IGNORED = frozenset((
    "cluster_dims", "extern_libs", "instrumentation_mode", "kpack", "launch_cooperative_grid",
    "launch_pdl", "matrix_instr_nonkdim", "maxRegAutoWS", "max_num_imprecise_acc_default",
    "minRegAutoWS", "sanitize_overflow", "schedule_hint", "waves_per_eu",
))  # fmt: skip
"""Options of launches that tune code of one vendor, and change no result."""


class KernelInterface:
    """What is launched by ``kernel[grid](...)``."""

    def run(self, *args: Any, grid: Any, warmup: bool, **keywords: Any) -> Any:
        """Launch, or only compile."""
        raise NotImplementedError

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """The launch over a grid: a number of programs along each axis, or a function that takes
        the arguments by name and returns these."""
        return lambda *args, **keywords: self.run(*args, grid=grid, warmup=False, **keywords)


class Specialisation(NamedTuple):
    """What code is made for, as the functions that name it read it."""

    fn: Callable[..., Any]
    signature: dict[str, str]
    constants: dict[str, Any]

    @staticmethod
    def of(
        fn: Callable[..., Any], names: Sequence[str], described: Sequence[Described]
    ) -> Specialisation:
        """That of the arguments of a launch."""
        pairs = [*zip(names, described, strict=True)]
        constants = {name: each.constant for name, each in pairs if each.type is None}
        return Specialisation(fn, {name: short_name(each) for name, each in pairs}, constants)


class JITFunction(TileFunction, KernelInterface):
    """A function that is compiled for the types of its arguments at its first launch with them.

    Args:
        fn: the Python function.
        do_not_specialize: parameters, by name or place, whose integers 1 become no constants.
        debug: check ``device_assert``; None for the launch's option, or TRITON_DEBUG.
        noinline: the function may stay a function of its own where programs call it.
        repr: makes the name of what ``warmup`` returns, of an object with the ``signature`` and the
            ``constants`` by the names of parameters.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        version: Any = None,
        do_not_specialize: Iterable[str | int] | None = None,
        do_not_specialize_on_alignment: Iterable[str | int] | None = None,
        debug: bool | None = None,
        noinline: bool | None = None,
        repr: Callable[..., str] | None = None,
        launch_metadata: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(fn, bool(noinline))
        self.debug, self.version = debug, version
        plain = frozenset(do_not_specialize or ())
        unknown = [each for each in plain if not self._has(each)]
        if unknown:
            raise ArgumentError(f"{fn.__name__} has no parameter {unknown[0]!r}")
        self.parameters = parameters_of(self, plain)
        self._both = [
            each.name for each in self.parameters if each.is_constant and not each.by_value
        ]
        self.arg_defaults = [p.default for p in self.signature.parameters.values()]
        self._repr = repr
        self.pre_run_hooks: list[Callable[..., Any]] = []
        self._programs: dict[Hashable, Program] = {}
        self._entries: dict[Hashable, Entry] = {}
        self._bind = binder(self)
        self._constants = tuple([each.is_constant for each in self.parameters])
        self._lock = threading.Lock()

    def _has(self, which: str | int) -> bool:
        count = len(self.arg_names)
        return which in self.arg_names if isinstance(which, str) else 0 <= which < count

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")

    def __repr__(self) -> str:
        return f"JITFunction({self.fn.__module__}:{self.fn.__qualname__})"

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self.fn.__qualname__} is a compiled function, which cannot be pickled: pickle the "
            "name of its module, and import it there"
        )

    def check(self) -> None:
        """Raise CompilationError if its parameters contradict each other."""
        for name in self._both:
            place = self.source.locate(self.source.node)
            raise CompilationError(
                f"{name} marked as constexpr and listed in do_not_specialize: a constant is what "
                "code is specialised for",
                place,
            )

    def add_pre_run_hook(self, hook: Callable[..., Any]) -> None:
        """Call a function before each launch, with the launch's arguments."""
        self.pre_run_hooks.append(hook)

    def _unsafe_update_src(self, text: str) -> None:
        """Translate another text; what is compiled is forgotten."""
        self.update_text(text)
        with self._lock:
            self._programs.clear()
            self._entries.clear()

    # ---- launches

    def warmup(self, *args: Any, grid: Any, **keywords: Any) -> CompiledKernel:
        """Compile for arguments of these types, which may be torch dtypes in place of tensors."""
        return self.run(*args, grid=grid, warmup=True, **keywords)

    def run(self, *args: Any, grid: Any, warmup: bool = False, **keywords: Any) -> CompiledKernel:
        """Launch over a grid, or only compile.

        Raises:
            ArgumentError: arguments are missing, or cannot be passed.
            CompilationError: the program is outside the language; located.
            TargetError: the device lacks what it needs.
        """
        for hook in self.pre_run_hooks:
            hook(*args, **keywords)
        key, done = (None, None) if warmup else self._repeated(args, grid, keywords)
        if done is not None:
            return done
        bound, options = self.bound(args, keywords)
        back = Writebacks()
        given = on_current_device(tuple(bound.values()), back)
        pairs = zip(given, self.parameters, strict=True)
        described = tuple([describe(value, parameter) for value, parameter in pairs])
        program = self._program_for(described, options)
        device = current.device()
        kernel = CompiledKernel(program, program.plan(device), current_target())
        shape = (0, 0, 0) if warmup else grid_of(grid, bound)
        if all(shape):
            chosen = tuple([given[n] for n in program.runtime])
            program.launch_converted(shape, chosen, back)
            forms = tuple([packed_form(value) for value in chosen])
            raw = [tuple(bound.values())[n] for n in program.runtime]
            same = all(type(a) is type(b) for a, b in zip(forms, raw, strict=True))
            if key is not None and same and not back:
                self._remember(key, program, forms, kernel, shape)
        return kernel

    def _repeated(
        self, args: tuple[Any, ...], grid: Any, keywords: dict[str, Any]
    ) -> tuple[Hashable | None, CompiledKernel | None]:
        """Launch as before, if a launch of this kind was checked. Hot.

        Returns:
            The key of the call, if it has one, and what the launch returns, if it was done.
        """
        if self._bind is None or not may_repeat():
            return None, None
        try:
            values, asked = self._bind(*args, **keywords)
            key = key_of_call(current.device(), self._constants, values, self._defaults() | asked)
            entry = self._entries.get(key)
        except TypeError:  # a call that ``bound`` refuses, or a constant without a hash
            return None, None
        if entry is None:
            return key, None
        shape = grid_of(grid, dict(zip(self.arg_names, values, strict=True)))
        return key, entry.kernel if entry.launch(shape, values) else None

    def _remember(
        self,
        key: Hashable,
        program: Program,
        forms: tuple[Any, ...],
        kernel: CompiledKernel,
        shape: Dim3,
    ) -> None:
        entry = self._entries.get(key)
        if entry is None:
            known = program.launch_for(current.device(), forms)
            waits = any(isinstance(value, np.ndarray) for value in forms)
            made = Entry(known.plan, known.pack, program.runtime, set(), waits, kernel)
            entry = self._entries.setdefault(key, made)
        entry.note(shape)

    def bound(
        self, args: tuple[Any, ...], keywords: Mapping[str, Any]
    ) -> tuple[dict[str, Any], Options]:
        """The arguments by the names of all parameters, and the options.

        Raises:
            ArgumentError: an argument is missing, or there is one too many.
        """
        mine = {name: value for name, value in keywords.items() if name in self.arg_names}
        try:
            found = self.signature.bind(*args, **mine)
        except TypeError as error:
            raise ArgumentError(f"{self.fn.__name__}: {error}") from None
        found.apply_defaults()
        given = {name: value for name, value in keywords.items() if name not in mine}
        asked = self._defaults() | given
        unknown = asked.keys() - _IGNORED - {*Options._fields}
        if unknown:
            name = min(unknown)
            raise ArgumentError(
                f"Keyword argument {name} was specified but unrecognised: {self.fn.__name__} has "
                f"the parameters {', '.join(self.arg_names)}"
            )
        known = {name: value for name, value in asked.items() if name in Options._fields}
        options = Options(**known)
        _check_warps(options.num_warps)
        return dict(found.arguments), options

    def _defaults(self) -> dict[str, Any]:
        """The options of launches that say nothing, which settings may change."""
        debug = knobs.runtime.debug if self.debug is None else self.debug
        return {"debug": debug, "enable_fp_fusion": knobs.language.default_fp_fusion}

    def _program_for(self, described: tuple[Described, ...], options: Options) -> Program:
        key = (*map(key_of, described), options)
        program = self._programs.get(key)
        if program is None:
            names = tuple(self.arg_names)
            with fork_waits(), self._lock:
                made = Program(self, names, described, options)
                if self._repr is not None:
                    made.name = self._repr(Specialisation.of(self.fn, names, described))
                program = self._programs.setdefault(key, made)
        return program


def _check_warps(count: Any) -> None:
    if type(count) is not int or count < 1 or count & (count - 1):
        raise WrongOption(f"num_warps must be a power of 2, not {count!r}")


@overload
def jit(fn: Callable[..., Any]) -> JITFunction: ...
@overload
def jit(*, version: Any = ..., **options: Any) -> Callable[[Callable[..., Any]], JITFunction]: ...
def jit(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a Python function a tile program, to launch as ``kernel[grid](...)``, and a function
    that other programs call.

    Raises:
        ArgumentError: it is no Python function.
    """

    def decorate(function: Any) -> JITFunction:
        if isinstance(function, JITFunction):
            function = function.fn
        if not inspect.isfunction(function):
            raise ArgumentError(f"jit takes a Python function, not {function!r}")
        return JITFunction(function, **options)

    return decorate if fn is None else decorate(fn)
