"""The handler of JAX's operators, called as XLA calls it; tests/peers/test_jax.py calls JAX."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_int64, c_void_p, cast, pointer, sizeof
from importlib.util import find_spec

import numpy as np
import pytest

from gridlane import cuda
from gridlane.core.errors import MissingError
from gridlane.cuda.interop import jax, jax_abi
from gridlane.cuda.interop.jax_abi import Api, Array, Arrays, CallFrame, Scalar, Text


@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


def launch(x, y, out):
    assert not x.flags.writeable and not y.flags.writeable
    add[1, 64](x, y, out)


class Call:
    """A call of the handler with arrays, and the errors that it has made."""

    def __init__(self, number: int, arguments, results, name=b"operator") -> None:
        self.errors = []
        self.api = Api(create_error=jax_abi.CREATE_ERROR(self._error))
        self.kept = []
        self.frame = CallFrame(size=sizeof(CallFrame), api=pointer(self.api), stage=jax_abi.EXECUTE)
        self.frame.arguments, self.frame.results = self._arrays(arguments), self._arrays(results)
        attributes = self.frame.attributes
        # Sorted by name; one of another kind comes first.
        texts = [self._text(b"another"), self._text(name)]
        scalar = Scalar(5, cast(pointer(c_int64(number)), c_void_p))
        self.kept += [*texts, scalar]
        attributes.count = 2
        attributes.kinds = (ctypes.c_int * 2)(4, jax_abi.SCALAR)
        attributes.names = (POINTER(Text) * 2)(*map(pointer, texts))
        attributes.items = (c_void_p * 2)(None, ctypes.addressof(scalar))

    def _text(self, name: bytes) -> Text:
        held = ctypes.create_string_buffer(name + b"more")
        self.kept.append(held)
        return Text(cast(held, POINTER(ctypes.c_char)), len(name))

    def _arrays(self, given) -> Arrays:
        made = []
        for each in given:
            code = next((n for n, dtype in jax_abi.DTYPES.items() if dtype == each.dtype), 20)
            shape = (c_int64 * each.ndim)(*each.shape)
            made.append(Array(0, None, code, each.ctypes.data, each.ndim, shape))
        self.kept += [*made, given]
        kinds = (ctypes.c_int * len(made))(*[jax_abi.BUFFER] * len(made))
        items = (POINTER(Array) * len(made))(*map(pointer, made))
        return Arrays(0, None, len(made), kinds, items)

    def _error(self, given) -> int:
        self.errors.append((given[0].code, given[0].message.decode()))
        return 4711

    def __call__(self):
        return jax._handler(byref(self.frame))


@pytest.fixture
def number():
    """The number of an operator that calls ``launch``."""
    jax._launches[1 << 40] = launch, "cpu"
    yield 1 << 40
    del jax._launches[1 << 40]


@pytest.mark.parametrize("dtype", [e for e in jax_abi.DTYPES.values() if e.kind != "b"], ids=str)
def test_a_kernel_works_on_the_memory(number, dtype):
    x, y = np.arange(12).astype(dtype), np.ones(12, dtype)
    out = np.zeros(12, dtype)
    call = Call(number, [x, y], [out])
    assert call() is None and not call.errors
    np.testing.assert_array_equal(out, x + y)


def test_arrays_of_all_ranks(number):
    seen = []
    jax._launches[number] = lambda *arrays: seen.extend(arrays), "interp"
    given = [np.array(True), np.ones((2, 0, 3), np.int8), np.arange(6.0).reshape(1, 2, 3)]
    assert Call(number, given, [])() is None
    assert [(each.shape, each.dtype) for each in seen] == [(e.shape, e.dtype) for e in given]
    assert all((a == b).all() and not a.flags.writeable for a, b in zip(seen, given))
    assert seen[2].ctypes.data == given[2].ctypes.data


def test_what_goes_wrong_is_an_error_of_xla(number):
    one = np.ones(1, np.float32)
    strange = np.ones(1, "M8[s]")
    call = Call(number, [one, one], [strange])
    assert call() == 4711
    code, text = call.errors[0]
    assert code == jax_abi.INVALID_ARGUMENT
    assert text.startswith("TypeError: result 0 has XLA's element type 20, which kernels lack")
    call = Call(number, [one, one], [one], name=b"operation")
    assert call() == 4711 and call.errors[0][1].endswith("the call has no attribute 'operator'")
    call = Call(number, [one], [one])
    assert call() == 4711 and "launch() missing 1 required" in call.errors[0][1]

    def broken(*arrays):
        raise RuntimeError("a zero \0 and an ä")

    jax._launches[number] = broken, "cpu"
    call = Call(number, [one], [one])
    assert call() == 4711
    assert call.errors == [(jax_abi.INTERNAL, "RuntimeError: a zero ? and an ä")]


def test_the_version_and_other_stages(number):
    metadata = jax_abi.Metadata(sizeof(jax_abi.Metadata), traits=7)
    other = jax_abi.Extension(0, 99, None)
    asked = jax_abi.MetadataExtension(
        jax_abi.Extension(0, jax_abi.METADATA, None), pointer(metadata)
    )
    other.next = cast(pointer(asked), POINTER(jax_abi.Extension))
    call = Call(number, [], [])
    call.frame.extensions = pointer(other)
    assert call() is None
    version = metadata.version
    assert ((version.major, version.minor), metadata.traits) == (jax_abi.VERSION, 0)
    early = Call(number, [], [])  # which would raise
    early.frame.stage = 0
    assert early() is None and not early.errors


@pytest.mark.skipif(find_spec("jax") is not None, reason="JAX is installed")
def test_without_jax():
    with pytest.raises(MissingError, match="pip install -U jax"):
        jax.operator(launch, None)
