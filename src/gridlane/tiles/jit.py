"""``jit``: functions of tile programs that are launched over a grid."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, overload

from gridlane.core.device_errors import noted
from gridlane.core.encoding import NotEncodable
from gridlane.core.errors import ArgumentError, GridlaneError
from gridlane.core.forks import fork_waits
from gridlane.cuda.kernels.overlaps import Writebacks
from gridlane.frontends.triton import functions
from gridlane.frontends.triton.fingerprint import fingerprint
from gridlane.frontends.triton.used import Used, functions_in, used_by
from gridlane.launch import current
from gridlane.tiles import knobs
from gridlane.tiles.arguments import (
    Described,
    describe,
    key_of,
    on_current_device,
    parameters_of,
    short_name,
)
from gridlane.tiles.arguments import type_canonicalisation_dict as type_canonicalisation_dict
from gridlane.tiles.driver import current_target
from gridlane.tiles.errors import CompilationError
from gridlane.tiles.grids import grid_of
from gridlane.tiles.hooks import LaunchMetadata
from gridlane.tiles.launchable import Launchable
from gridlane.tiles.launching import IGNORED, UNSET, TileLaunch, settings_guards
from gridlane.tiles.option_values import options_of
from gridlane.tiles.params import params_of
from gridlane.tiles.profiles import Checked, profile_of
from gridlane.tiles.programs import CompiledKernel, Options, Program
from gridlane.tiles.signatures import program_of
from gridlane.tiles.streams import Handles, handles_of
from gridlane.tiles.wrappers import MockTensor
from gridlane.tiles.wrappers import TensorWrapper as TensorWrapper
from gridlane.tiles.wrappers import reinterpret as reinterpret


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


class JITFunction(Launchable, KernelInterface):
    """A function that is compiled for the types of its arguments at its first launch with them.

    Args:
        fn: the Python function.
        do_not_specialize: parameters, by name or place, whose integers 1 become no constants;
            others are passed over, as programs name parameters that they had once.
        debug: check ``device_assert``; None for the launch's option, or TRITON_DEBUG.
        noinline: the function may stay a function of its own where programs call it.
        do_not_specialize_on_alignment: has no effect but in ``params``.
        repr: makes the name of what ``warmup`` returns, of an object with the ``signature`` and the
            ``constants`` by the names of parameters.
        launch_metadata: returns further facts of a launch for hooks, of the grid, the kernel's
            ``metadata`` and the arguments by name.
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
        do_not_specialize = [*(do_not_specialize or ())]
        do_not_specialize_on_alignment = [*(do_not_specialize_on_alignment or ())]
        self.debug, self.version = debug, version
        self._made_of = (
            version, do_not_specialize, do_not_specialize_on_alignment, debug, noinline, repr,
            launch_metadata,
        )  # fmt: skip
        plain = frozenset(do_not_specialize)
        self.params = params_of(self, plain, frozenset(do_not_specialize_on_alignment))
        self.parameters = parameters_of(self, plain)
        self._both = [
            each.name for each in self.parameters if each.is_constant and not each.by_value
        ]
        self.arg_defaults = [p.default for p in self.signature.parameters.values()]
        self._repr, self._launch_metadata = repr, launch_metadata
        self.pre_run_hooks: list[Callable[..., Any]] = []
        self._programs: dict[Hashable, Program] = {}
        self._used: tuple[Used, ...] = ()
        self._updates = functions.updates
        self._lock = threading.RLock()
        self._launch = TileLaunch(self)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        raise RuntimeError("Cannot call @triton.jit'd outside of the scope of a kernel")

    def __repr__(self) -> str:
        return f"JITFunction({self.fn.__module__}:{self.fn.__qualname__})"

    def _options(self) -> tuple[Any, ...]:
        return self._made_of

    @property
    def cache_key(self) -> str:
        """A digest of its text and of what it reads; a number of this object where an object that
        it reads has none."""
        try:
            return fingerprint(self).hex()
        except NotEncodable:
            return f"{id(self):064x}"

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
            self._used = ()

    # ---- launches

    def warmup(self, *args: Any, grid: Any, **keywords: Any) -> CompiledKernel:
        """Compile for arguments of these types, which may be torch dtypes in place of tensors."""
        return self.run(*args, grid=grid, warmup=True, **keywords)

    def __getitem__(self, grid: Any) -> Callable[..., CompiledKernel]:
        return self._launch._over(grid)

    def run(self, *args: Any, grid: Any, warmup: bool = False, **keywords: Any) -> CompiledKernel:
        """Launch over a grid, or only compile.

        Raises:
            ArgumentError: arguments are missing, or cannot be passed.
            CompilationError: the program is outside the language; located.
            TargetError: the device lacks what it needs.
            RuntimeError: a global name of the program has another value than it was compiled with.
        """
        if warmup:
            return self.launch_slowly(None, (0,), args, keywords)
        return self._launch._over(grid)(*args, **keywords)

    @property
    def used_global_vals(self) -> dict[tuple[str, int], tuple[Any, Any]]:
        """The constants around the function that its programs are compiled with: the value of each
        and what binds it, by its name and the number of that."""
        return {
            (each.name, id(each.owner)): (each.before, each.owner)
            for each in self._used
            if each.is_constant
        }

    def launch_slowly(
        self, launch: TileLaunch | None, grid: Any, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> CompiledKernel:
        """Launch like no launch before, and prepare ``launch`` for others like this one."""
        try:
            return self._launch_slowly(launch, grid, args, keywords)
        except GridlaneError as error:
            noted(error, device=current.name(), kernel=self.__name__)
            raise

    def _launch_slowly(
        self, launch: TileLaunch | None, grid: Any, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> CompiledKernel:
        for hook in self.pre_run_hooks:
            hook(*args, **keywords)
        self._check_globals()
        bound, options = self.bound(args, keywords)
        back = Writebacks()
        values = self._values(tuple(bound.values()), is_launch=launch is not None)
        given = on_current_device(values, back)
        pairs = zip(given, self.parameters, strict=True)
        described = tuple([describe(value, parameter) for value, parameter in pairs])
        program = self._program_for(described, options)
        plan = program.plan(current.device())
        kernel = CompiledKernel(program, plan, current_target())
        shape = grid_of(grid, bound)
        if not all(shape):
            return kernel
        chosen = tuple([given[n] for n in program.runtime])
        handles = handles_of(values, plan.device)
        if knobs.runtime.hooks:
            facts = self._metadata(shape, kernel, bound, handles)
            with _hooked(facts):
                known, params = program.launch_converted(shape, chosen, back, handles)
        else:
            known, params = program.launch_converted(shape, chosen, back, handles)
        hooked = self.pre_run_hooks or knobs.runtime.hooks
        is_plain = not back and not hooked and current.is_native()
        if launch is not None and launch.is_named and is_plain:
            asked = tuple([keywords.get(name, UNSET) for name in Options._fields])
            checked = Checked(
                *known, values, described, self.parameters, asked, params, kernel, handles
            )
            self._remember(launch, checked)
        return kernel

    def _values(self, values: tuple[Any, ...], is_launch: bool) -> tuple[Any, ...]:
        """The arguments of a launch; of a warmup, types stand for tensors."""
        if not is_launch:
            pairs = zip(values, self.parameters, strict=True)
            return tuple([v if p.is_constant else MockTensor.wrap_dtype(v) for v, p in pairs])
        if any(isinstance(value, MockTensor) for value in values):
            raise ArgumentError(f"{self.__name__}: launches take tensors; warmup takes their types")
        return values

    def _metadata(
        self, grid: Any, kernel: CompiledKernel, bound: dict[str, Any], handles: Handles | None
    ) -> LaunchMetadata:
        """What hooks take of a launch."""
        known = {
            "name": kernel.name,
            "function": kernel.hash,
            "stream": handles() if handles else 0,
        }
        own = self._launch_metadata
        further = None if own is None else partial(own, grid, kernel.metadata, bound)
        return LaunchMetadata(known, further)

    def program_for(
        self, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[Program, dict[str, Any]]:
        """The program for arguments, which need not be compiled, and the arguments by name.

        Raises:
            ArgumentError: arguments are missing, or cannot be passed.
        """
        self._check_globals()
        bound, options = self.bound(args, keywords)
        pairs = zip(bound.values(), self.parameters, strict=True)
        values = tuple([v if p.is_constant else MockTensor.wrap_dtype(v) for v, p in pairs])
        given = on_current_device(values, Writebacks())
        pairs = zip(given, self.parameters, strict=True)
        described = tuple([describe(value, parameter) for value, parameter in pairs])
        return self._program_for(described, options), bound

    def programs(self) -> list[Program]:
        """What is compiled, or about to be, for each kind of launch so far."""
        return list(self._programs.values())

    def explain(self, signature: str | None = None) -> str:
        """The compiler's decisions about each line on the current device, as text: where tiles are
        stored, by which instructions products are computed, what loops copy ahead; and on the CPU
        what is a vector, gathered or masked.

        Args:
            signature: see ``signatures.program_of``; None for each kind of launch so far.

        Raises:
            ArgumentError: the signature does not fit the parameters.
        """
        from gridlane.tiles.explaining import explained

        programs = self.programs() if signature is None else [program_of(self, signature)]
        if not programs:
            return f"{self.__name__} is not compiled yet: launch it, or give a signature"
        return "\n\n".join(map(explained, programs))

    def _remember(self, launch: TileLaunch, checked: Checked) -> None:
        """Make the next launch with arguments like these a native one, if possible."""
        if current.refuses_native():
            return
        used = [each.guards() for each in self._used]
        guards = [guard for each in used if each is not None for guard in each]
        profile = None if None in used else profile_of(checked)
        if profile is not None:
            launch.hold((*settings_guards(self), *guards))
            launch._install(*profile)

    def _check_globals(self) -> None:
        """Forget what was compiled if a function or class that it uses is another one.

        Raises:
            RuntimeError: a constant that it uses has another value.
        """
        changed = [each for each in self._used if not each.is_same()]
        for each in changed:
            if each.is_constant:
                raise RuntimeError(
                    f"Global variable {each.name} has changed since we compiled this kernel, from "
                    f"{each.before} to {each.now()}"
                )
        if changed or self._updates != functions.updates:
            with self._lock:
                self._programs.clear()
                self._used, self._updates = (), functions.updates

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
        unknown = given.keys() - IGNORED - {*Options._fields}
        if unknown:
            name = min(unknown)
            raise ArgumentError(
                f"Keyword argument {name} was specified but unrecognised: {self.fn.__name__} has "
                f"the parameters {', '.join(self.arg_names)}"
            )
        return dict(found.arguments), options_of(self._defaults(), given)

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
                self._note_used(made)
                program = self._programs.setdefault(key, made)
        return program

    def _note_used(self, program: Program) -> None:
        """Note the names that a program reads from around it: they are those of all its programs,
        but for the functions that are arguments."""
        constants = program.source.constants.values()
        functions = [each for constant in constants for each in functions_in(constant)]
        if functions or not self._programs:
            known = {(id(each.owner), each.name): each for each in self._used}
            for each in used_by([self, *functions]):
                known.setdefault((id(each.owner), each.name), each)
            self._used = tuple(known.values())


@contextmanager
def _hooked(facts: LaunchMetadata) -> Generator[None]:
    """Call the hooks of launches around one."""
    enter, leave = knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook
    if enter is not None:
        enter(facts)
    yield
    if leave is not None:
        leave(facts)


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
        if function.__name__ == "<lambda>":
            raise ArgumentError("jit takes a function of a `def`, not a lambda")
        return JITFunction(function, **options)

    return decorate if fn is None else decorate(fn)
