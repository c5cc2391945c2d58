"""``autotune`` and ``heuristics``: constants and options chosen by measurement, or by functions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gridlane.backends import backend
from gridlane.core.device_errors import handled
from gridlane.core.errors import ArgumentError, GridlaneError
from gridlane.launch import current
from gridlane.tiles import knobs, tuned
from gridlane.tiles.configs import Config, hashable
from gridlane.tiles.errors import (
    AutotunerError,
    CompilationError,
    OutOfResources,
    WrongOption,
    WrongTuning,
)
from gridlane.tiles.jit import KernelInterface
from gridlane.tiles.option_values import options_of
from gridlane.tiles.testing import do_bench
from gridlane.tuning.choice import measure_each
from gridlane.tuning.memory import assign, copy_of
from gridlane.tuning.observing import observers, wishes
from gridlane.tuning.results import State, Trial, Tuning
from gridlane.tuning.spaces import Candidate

_PLAIN = frozenset((bool, int, float, str, type(None)))
"""Types of arguments without a dtype."""
_ABSENT = object()
_MOST_KNOWN = 1024
INFINITE = float("inf")


class _Sent(KernelInterface):
    """A program around another one, which other processes make of its parts."""

    fn: Any

    @property
    def base_fn(self) -> Any:
        """The function below all decorators."""
        function: Any = self.fn
        while isinstance(function, _Sent):
            function = function.fn
        return function

    def _state(self) -> dict[str, Any]:
        """Its attributes, without what was measured on this machine."""
        return dict(vars(self))

    def __gridlane_name__(self) -> tuple[str, str]:
        """The module and the qualified name by which other processes may find it."""
        return self.base_fn.__gridlane_name__()

    def __gridlane_parts__(self) -> tuple[Any, ...]:
        """What another process makes it of, in the form of ``__reduce__``."""
        return object.__new__, (type(self),), self._state()

    def __reduce__(self) -> Any:
        from gridlane.frontends.foreign.sending import reduced  # few programs need it

        return reduced(self, *self.__gridlane_name__())


class Autotuner(_Sent):
    """A program that is launched with the fastest of several configurations.

    It measures all of them at the first launch for each value of its key: the arguments that
    ``key`` names, and the types of the arrays. See ``autotune`` for the arguments.
    """

    def __init__(
        self,
        fn: Any,
        arg_names: Sequence[str],
        configs: Sequence[Config],
        key: Sequence[str],
        reset_to_zero: Sequence[str] | None = None,
        restore_value: Sequence[str] | None = None,
        pre_hook: Callable[..., Any] | None = None,
        post_hook: Callable[..., Any] | None = None,
        prune_configs_by: Mapping[str, Any] | None = None,
        warmup: float | None = None,
        rep: float | None = None,
        use_cuda_graph: bool = False,
        do_bench: Callable[..., Any] | None = None,
        cache_results: bool = False,
        deadline: float | None = None,
    ) -> None:
        self.fn, self.arg_names = fn, [*arg_names]
        self.configs = [*configs] or [Config({})]
        self.keys = [*key]
        self.reset_to_zero, self.restore_value = [*(reset_to_zero or ())], [*(restore_value or ())]
        _check_names(self.arg_names, (*self.keys, *self.reset_to_zero, *self.restore_value))
        self._own_pre_hook, self.post_hook = pre_hook, post_hook
        self.user_defined_pre_hook = pre_hook is not None
        self.user_defined_post_hook = post_hook is not None
        prune = dict(prune_configs_by or {})
        self.early_config_prune = prune.get("early_config_prune")
        self.perf_model, self.configs_top_k = prune.get("perf_model"), prune.get("top_k", 1.0)
        self.warmup_ms, self.rep_ms = warmup or 25, rep or 100
        self._do_bench = do_bench
        self.cache_results = cache_results or knobs.autotuning.cache
        self.deadline = deadline
        self.cache: dict[Hashable, Config] = {}
        self._known: dict[Hashable, tuple[Hashable, Config]] = {}
        self._places = [(self.arg_names.index(name), name) for name in self.keys]
        self.best_config: Config | None = None
        self.configs_timings: dict[Config, Any] = {}
        self.bench_time = 0.0
        self.nargs: dict[str, Any] = {}

    def _state(self) -> dict[str, Any]:
        return {
            **vars(self), "cache": {}, "_known": {}, "nargs": {}, "configs_timings": {},
            "best_config": None, "bench_time": 0.0,
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"Autotuner({self.fn!r})"

    def run(self, *args: Any, **keywords: Any) -> Any:
        """Launch with the fastest configuration, after measuring where none is known."""
        if len(self.configs) > 1:
            config = self._config(args, keywords)
        else:
            config = self.configs[0]
            _check_apart(self.configs, keywords)
        self.best_config = config
        chosen = config.all_kwargs()
        if config.pre_hook is not None:
            self.nargs = dict(zip(self.arg_names, args, strict=False))
            config.pre_hook({**self.nargs, **keywords, **chosen})
        return self.fn.run(*args, **keywords, **chosen)

    def _config(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Config:
        """The configuration for arguments, after measuring where none is known. Hot."""
        quick: Hashable = self._quick_key(args, keywords)
        try:
            key, known = self._known.get(quick, (None, None))
            if known is not None and self.cache.get(key) is known:  # the cache is the user's too
                return known
        except TypeError:  # a value without a hash, which the key has as well
            quick = None
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        key = self._key(self.nargs | keywords)
        if key not in self.cache:
            self._choose(key, args, keywords)
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[quick] = key, self.cache[key]
        return self.cache[key]

    def _quick_key(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """What the key follows from: it is equal where the key is, in less time."""
        count = len(args)
        parts = [
            args[place] if place < count else keywords.get(name, _ABSENT)
            for place, name in self._places
        ]
        for value in args:
            if value.__class__ not in _PLAIN:
                parts.append(getattr(value, "dtype", _ABSENT))
        for name, value in keywords.items():
            if value.__class__ not in _PLAIN:
                parts += name, getattr(value, "dtype", _ABSENT)
        return count, *parts

    def warmup(self, *args: Any, **keywords: Any) -> list[Any]:
        """Compile every configuration."""
        self.nargs = dict(zip(self.arg_names, args, strict=False))
        return [
            self.fn.warmup(*args, **keywords, **config.all_kwargs())
            for config in self.prune_configs(keywords)
        ]

    def _key(self, arguments: Mapping[str, Any]) -> Hashable:
        named = {name: value for name, value in arguments.items() if name in self.arg_names}
        key: list[Hashable] = [named[name] for name in self.keys if name in named]
        key += [str(value.dtype) for value in named.values() if hasattr(value, "dtype")]
        return tuple(key)

    # ---- measuring

    def _choose(self, key: Hashable, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """Choose the configuration for a key: one that is alone is not measured."""
        configs = self.prune_configs(keywords)
        _check_apart(configs, keywords)
        if len(configs) == 1:
            self.cache[key] = configs[0]
            return
        path = tuned.place_of(self.base_fn, key, configs) if self.cache_results else None
        times, known = ({}, False) if wishes.again else tuned.load(path, configs)
        for each in observers:
            each.begins(self.base_fn.__name__, _shown(key), len(configs))
        timings = times if known else self._tune(configs, args, keywords, times, path)
        best = min(timings, key=lambda config: _order(_first(timings[config])))
        if not _first(timings[best]) >= 0:
            times = ", ".join(f"{_first(each)} of {config}" for config, each in timings.items())
            raise WrongTuning(
                f"autotune: every time of {self.base_fn.__name__} is NaN or negative, and a "
                f"measurement returns milliseconds: {times}"
            )
        self.configs_timings = timings
        self.cache[key] = best
        for each in observers:
            each.ends(self._as_tuning(key, configs, timings, known))
        if knobs.autotuning.listener is not None:
            knobs.autotuning.listener(
                fn=self.base_fn,
                key=key,
                best_config=self.cache[key],
                configs_timings=timings,
                duration=None if known else self.bench_time,
                cache_hit=bool(known),
            )
        if knobs.autotuning.print and not known:
            print(
                f"Triton autotuning for function {self.base_fn.__name__},\nwith key as {key},\n"
                f"finished after {self.bench_time:.2f}s,\nbest config selected: {self.cache[key]};"
            )

    def _tune(
        self,
        configs: list[Config],
        args: tuple[Any, ...],
        keywords: dict[str, Any],
        known: dict[Config, tuned.Timing],
        path: Path | None,
    ) -> dict[Config, Any]:
        """Measure the configurations whose times are not known; the times of those that run. Each
        is kept at once: an interrupted process loses none."""
        result = measure_each(
            configs,
            lambda config: self._measure(config, args, keywords),
            self._kind,
            self.deadline if wishes.seconds is None else wishes.seconds,
            known,
            (OutOfResources, GridlaneError),
            lambda timings: self._keep(path, configs, timings),
        )
        self.bench_time = result.seconds
        if not result.timings:
            reasons = "; ".join(dict.fromkeys(map(_reason, result.failures)))
            raise ArgumentError(
                f"autotune: none of the {len(result.failures)} configurations of "
                f"{self.base_fn.__name__} runs: {reasons}"
            ) from (result.failures[0] if result.failures else None)
        tuned.store(path, configs, result.timings, result.complete)
        return result.timings

    def _keep(self, path: Path | None, configs: list[Config], timings: dict[Config, Any]) -> None:
        """Keep the times so far, and show the last one."""
        tuned.store(path, configs, timings, complete=False)
        last = next(reversed(timings))
        for each in observers:
            each.tried(self.base_fn.__name__, _trial(configs.index(last), last, timings[last]))

    def _as_tuning(
        self, key: Hashable, configs: list[Config], timings: dict[Config, Any], known: bool
    ) -> Tuning:
        trials = [_trial(configs.index(config), config, t) for config, t in timings.items()]
        seconds = 0.0 if known else self.bench_time
        return Tuning(
            self.base_fn.__name__, _shown(key), current.name(), tuple(trials), True, known, seconds,
            "", len(configs),
        )  # fmt: skip

    def _kind(self, config: Config) -> Hashable:
        """What code and launches depend on of a configuration: a host device has no warps, and no
        copies in flight. One that launches refuse is of no other's kind."""
        if not backend(current.device().target((1, 1, 1)).name).on_host:
            return config
        options = {*Config({}).all_kwargs(), "maxnreg"} - {*self.arg_names}
        named = config.all_kwargs()
        try:
            options_of({}, {name: named[name] for name in options & {*named}})
        except WrongOption:
            return config
        own = [(name, hashable(value)) for name, value in named.items() if name not in options]
        return tuple(own), config.pre_hook

    def _measure(self, config: Config, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        named = {**self.nargs, **keywords, **config.all_kwargs()}
        restored = [name for name in self.restore_value if named.get(name) is not None]
        kept = {name: copy_of(named[name]) for name in restored}

        def call() -> None:
            if config.pre_hook is not None:
                config.pre_hook(named)
            self.pre_hook(named)
            for name, value in kept.items():
                assign(named[name], value)
            error: BaseException | None = None
            try:
                self.fn.run(*args, **keywords, **config.all_kwargs())
            except Exception as raised:
                error = raised
                raise
            finally:
                if self.post_hook is not None:
                    self.post_hook(named, exception=error)

        if self._do_bench is not None:
            result = self._do_bench(call, quantiles=(0.5, 0.2, 0.8))
            if result is None:
                raise WrongTuning("autotune: its do_bench returned None, and no time")
        else:
            result = do_bench(call, self.warmup_ms, self.rep_ms, quantiles=(0.5, 0.2, 0.8))
        self.pre_hook(named, reset_only=True)
        for name, value in kept.items():
            assign(named[name], value)
        return result

    # ---- Triton's names, which classes of programs that choose in another way call

    def pre_hook(self, arguments: Mapping[str, Any], reset_only: bool = False) -> None:
        """Prepare a measured launch: call the program's hook unless ``reset_only``, and zero
        arrays."""
        if self._own_pre_hook is not None and not reset_only:
            self._own_pre_hook(arguments)
        for name in self.reset_to_zero:
            if arguments.get(name) is not None:
                assign(arguments[name], 0)

    def _bench(self, *args: Any, config: Config, **keywords: Any) -> Any:
        """The times of a configuration, which are infinite if it does not run."""
        _check_apart([config], keywords)
        try:
            return self._measure(config, args, keywords)
        except (OutOfResources, GridlaneError) as error:
            handled(error)
            return [float("inf")] * 3

    def prune_configs(self, keywords: Mapping[str, Any]) -> list[Config]:
        """The configurations to measure."""
        configs = self.configs
        if self.early_config_prune is not None:
            configs = [*(self.early_config_prune(configs, self.nargs, **keywords) or ())]
            if not configs:
                raise AutotunerError(
                    "No valid autotuner configs after pruning. `early_config_prune` should return "
                    "at least one config."
                )
        model = self.perf_model
        if model is None:
            return configs
        return _promising(
            configs,
            self.configs_top_k,
            lambda config: model(**self.nargs, **keywords, **config.all_kwargs()),
        )


def _promising(configs: list[Config], top: float, model: Callable[[Config], Any]) -> list[Config]:
    """The configurations with the least times of a model: a count of them, or a share."""
    if isinstance(top, float) and top <= 1.0:
        count = max(1, int(len(configs) * top))
    elif isinstance(top, int) and top > 0:
        count = top
    else:
        raise WrongTuning(f"autotune: top_k is a share up to 1.0 or a count, not {top!r}")
    if count >= len(configs):
        return configs
    times = {config: model(config) for config in configs}
    return sorted(times, key=lambda config: (times[config] != times[config], times[config]))[:count]


def _trial(place: int, config: Config, timing: Any) -> Trial:
    """A configuration as other tunings have their candidates."""
    candidate = Candidate((place,), tuple(config.all_kwargs().items()))
    time = _first(timing)
    if not time >= 0:
        return Trial(candidate, State.FAILED, reason=f"its time is {time}")
    return Trial(candidate, State.MEASURED, time)


def _order(time: float) -> tuple[bool, float]:
    """Orders times: what no clock measures, NaN and negative ones, behind all others."""
    return not time >= 0, time


def _shown(key: Any) -> str:
    return ", ".join(map(str, key))


def _first(timing: Any) -> float:
    return float(timing[0] if isinstance(timing, list | tuple) else timing)


def _check_names(names: Sequence[str], used: Sequence[str]) -> None:
    unknown = [name for name in used if name not in names]
    if unknown:
        raise WrongTuning(f"autotune: {unknown[0]!r} is no parameter; these are {', '.join(names)}")


def _check_apart(configs: Sequence[Config], keywords: Mapping[str, Any]) -> None:
    twice = {name for each in configs for name in each.kwargs.keys() & keywords.keys()}
    if twice:
        raise WrongTuning(
            f"Conflicting meta-parameters: {', '.join(sorted(twice))}. Make sure that you "
            "don't re-define auto-tuned symbols."
        )


def _reason(error: BaseException) -> str:
    """The line of an error that has its reason: the last where the first one has a place."""
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[-1 if isinstance(error, CompilationError) else 0]


def autotune(
    configs: Sequence[Config],
    key: Sequence[str],
    prune_configs_by: Mapping[str, Any] | None = None,
    reset_to_zero: Sequence[str] | None = None,
    restore_value: Sequence[str] | None = None,
    pre_hook: Callable[..., Any] | None = None,
    post_hook: Callable[..., Any] | None = None,
    warmup: float | None = None,
    rep: float | None = None,
    use_cuda_graph: bool = False,
    do_bench: Callable[..., Any] | None = None,
    cache_results: bool = False,
    deadline: float | None = None,
) -> Callable[[Any], Autotuner]:
    """Launch a program with the fastest of several configurations.

    Args:
        configs: to choose from.
        key: the arguments whose change makes it measure again.
        prune_configs_by: ``early_config_prune(configs, arguments, **keywords)`` returns those to
            measure; ``perf_model`` estimates a time by the arguments, of which the ``top_k``
            (a count, or a share up to 1.0) are measured.
        reset_to_zero: arrays that are zeroed before each measured launch.
        restore_value: arrays that get their values back after it.
        pre_hook, post_hook: called before and after each measured launch.
        warmup, rep: milliseconds of each measurement.
        use_cuda_graph: has no effect: launches are measured as they are.
        cache_results: keep what was measured for later processes, in the folder of the disk cache;
            not with configurations that have hooks.
        do_bench: measures in place of ``triton.testing.do_bench``.
        deadline: seconds after which no further configuration is measured.

    Raises:
        ArgumentError: a name is no parameter, or at a launch: no configuration runs.
    """

    def decorate(fn: Any) -> Autotuner:
        return Autotuner(
            fn, fn.arg_names, configs, key, reset_to_zero, restore_value, pre_hook, post_hook,
            prune_configs_by, warmup, rep, use_cuda_graph, do_bench, cache_results, deadline,
        )  # fmt: skip

    return decorate


class Heuristics(_Sent):
    """A program some of whose constants are functions of its arguments."""

    def __init__(
        self, fn: Any, arg_names: Sequence[str], values: Mapping[str, Callable[..., Any]]
    ) -> None:
        self.fn, self.arg_names, self.values = fn, [*arg_names], dict(values)

    def _added(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        named = {**dict(zip(self.arg_names, args, strict=False)), **keywords}
        for name, function in self.values.items():
            named[name] = keywords[name] = function(named)
        return keywords

    def run(self, *args: Any, **keywords: Any) -> Any:
        """Launch with the constants that the functions return."""
        return self.fn.run(*args, **self._added(args, keywords))

    def warmup(self, *args: Any, **keywords: Any) -> Any:
        """Compile with these constants."""
        return self.fn.warmup(*args, **self._added(args, keywords))


def heuristics(values: Mapping[str, Callable[..., Any]]) -> Callable[[Any], Heuristics]:
    """Compute constants of a program at each launch, from its arguments by name.

    >>> from gridlane import tiles
    >>> @tiles.heuristics({"EVEN": lambda args: args["n"] % 2 == 0})
    ... @tiles.jit
    ... def kernel(n, EVEN: tiles.language.constexpr):
    ...     pass
    >>> launched = kernel[(1,)](4)
    """
    return lambda fn: Heuristics(fn, fn.arg_names, values)
