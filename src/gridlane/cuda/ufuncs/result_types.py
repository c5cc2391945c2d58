"""The result type of a device function for arguments of given types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gridlane.core.argtypes import ArgType, TimeType
from gridlane.core.errors import UnsupportedError
from gridlane.core.numpy_types import from_numpy
from gridlane.cuda.kernels.sources import with_source
from gridlane.cuda.ufuncs.generated import define

if TYPE_CHECKING:
    from gridlane.cuda.kernels.dispatcher import Dispatcher


def calling(core: Dispatcher, count: int, stored: bool) -> Any:
    """The Python function of a kernel that calls a device function of ``count`` arguments; with
    ``stored`` it also stores the result in an array, its last argument."""
    names = ", ".join(f"a{n}" for n in range(count))
    call = f"core({names})"
    head = f"{names}, out" if stored and names else "out" if stored else names
    text = f"def call({head}):\n    {'out[0] = ' * stored}{call}\n"
    return with_source(define("call", text, {"core": core}))


def result_type(core: Dispatcher, types: tuple[ArgType, ...]) -> ArgType:
    """The type of the one scalar that a device function returns.

    Raises:
        CompileError: the error of the source for such arguments, and its place.
        UnsupportedError: it returns no single scalar.
    """
    from gridlane import compiler
    from gridlane.core.dtypes import DType
    from gridlane.frontends.python.translation import translate_device
    from gridlane.ir.ops.control import Call

    module = compiler.translate(calling(core, len(types), False), types, core.options)
    call = next(op for op in module.kernel.body.walk() if isinstance(op, Call))
    results = module.functions[call.callee].results
    if len(results) != 1 or not isinstance(results[0], DType):
        given = ", ".join(map(str, results)) or "nothing"
        raise UnsupportedError(f"{core.__name__} returns {given}; one scalar is required here")
    if any(isinstance(each, TimeType) for each in types):
        return translate_device(core.py_func, types, core.options)[1]
    return from_numpy(results[0].numpy)
