"""``@actors.kernel``: a handler, the class of its messages, its state and its replies."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gridlane.actors.values.messages import Shape, shape_of
from gridlane.actors.values.uses import Use, uses_of
from gridlane.core.errors import TypingError
from gridlane.core.signatures import signature_of
from gridlane.core.source import Loc
from gridlane.frontends.python.device_function import DeviceFunction, device_function_of
from gridlane.frontends.python.scope import lookup

THREADS = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Actor:
    """A handler that can be launched.

    Attributes:
        handler: ``(ctx, state, message, *arrays)`` in the dialect.
        message, state, replies: the classes; None where it has no state or no replies.
        threads: that handle a message together.
        arrays: the number of arrays of a launch.
        uses: the actors and topics that the handler names.
    """

    handler: DeviceFunction
    message: Shape
    state: Shape | None
    replies: Shape | None
    threads: int
    arrays: int
    uses: tuple[Use, ...]

    @property
    def name(self) -> str:
        """The handler's name."""
        return self.handler.__name__

    @property
    def place(self) -> Loc:
        """The location of the handler."""
        return place_of(self.handler.py_func)

    def __call__(self, *args: Any) -> Any:
        raise TypeError(
            f"{self.name} is an actor; launch it in a Runtime and post it messages, or call its "
            f"Python function as {self.name}.handler.py_func(ctx, state, message)"
        )


def kernel(
    function: Any = None,
    *,
    state: type | None = None,
    replies: type | None = None,
    threads: int = 1,
) -> Any:
    """Make a function an actor's handler: ``(ctx, state, message)`` and arrays given at launch.

    The annotation of ``message`` is the class of its messages. A device function's options hold:
    ``@cuda.jit(device=True, debug=True, opt=False)`` below this decorator checks indices.

    Args:
        state: the class of the state, which stays on the device.
        replies: the class of its replies.
        threads: that handle a message together, as a block with barriers.

    Raises:
        TypingError: a parameter is missing, or a class is not decorated, with the handler's line.
    """
    if function is None:

        def decorate(given: Any) -> Actor:
            return _actor(given, state, replies, threads)

        return decorate
    return _actor(function, state, replies, threads)


def _actor(function: Any, state: type | None, replies: type | None, threads: int) -> Actor:
    known = device_function_of(function)
    handler = known or DeviceFunction(function)
    place = place_of(handler.py_func)
    parameters = list(signature_of(handler.py_func).parameters.values())
    name = handler.py_func.__qualname__
    if len(parameters) < 3:
        raise TypingError(f"{name} takes (ctx, state, message) and the arrays of a launch", place)
    if not isinstance(threads, int) or not 1 <= threads <= THREADS:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypingError(f"{name}: threads={threads!r} is not between 1 and {THREADS}", place)
    message = annotation_of(handler.py_func, parameters[2])
    if message is None:
        raise TypingError(
            f"{name}: annotate {parameters[2].name} with the class of its messages", place
        )
    return Actor(
        handler,
        shape_at(message, "message", place),
        None if state is None else shape_at(state, "state", place),
        None if replies is None else shape_at(replies, "message", place),
        threads,
        len(parameters) - 3,
        uses_of(handler.py_func),
    )


def shape_at(cls: Any, what: str, place: Loc) -> Shape:
    """The shape of a decorated class; TypingError at a place for any other."""
    try:
        return shape_of(cls, what)
    except TypingError as error:
        raise TypingError(error.message, place) from None


def annotation_of(function: Callable[..., Any], parameter: inspect.Parameter) -> Any:
    """The annotation of a parameter, also where it is a string."""
    annotation = parameter.annotation
    if annotation is parameter.empty:
        return None
    annotation = getattr(
        annotation, "__forward_arg__", annotation
    )  # of Python 3.14: its names are unknown so far
    if not isinstance(annotation, str):
        return annotation
    around = {name: lookup(function, name) for name in function.__code__.co_freevars}
    known = {name: value for name, (is_known, value) in around.items() if is_known}
    scope = {**function.__globals__, **known}
    try:
        return eval(annotation, scope)
    except Exception as error:
        raise TypingError(
            f"{function.__qualname__}: the annotation {annotation!r} of "
            f"{parameter.name} fails: {error}",
            place_of(function),
        ) from None


def place_of(function: Callable[..., Any]) -> Loc:
    """The location of a function."""
    from gridlane.frontends.python.source import source_of

    source = source_of(function)  # type: ignore[arg-type]  # a Python function
    return source.locate(source.node)
