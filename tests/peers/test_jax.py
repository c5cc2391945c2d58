"""Kernels as operators of JAX, where it is installed."""

from __future__ import annotations

import numpy as np
import pytest

import gridlane
from gridlane import cuda

jax = pytest.importorskip("jax")
jnp = jax.numpy
operator = pytest.importorskip("gridlane.cuda.interop.jax").operator


@cuda.jit(debug=True, opt=False)
def product(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * y[i]


@cuda.jit
def grow(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] += 1


def like_first(x, *rest):
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def launch(x, y, out):
    product[-(-out.size // 64), 64](x, y, out)


def test_memory_is_shared_with_jax():
    seen = []

    def told(x, y, out):
        seen.append((x.ctypes.data, x.flags.writeable, out.ctypes.data))
        launch(x, y, out)

    op = operator(told, like_first)
    x, y = jnp.arange(1000, dtype=jnp.float32), jnp.full(1000, 3, jnp.float32)
    for call in (op, jax.jit(op)):
        out = call(x, y)
        assert out.tolist() == (np.arange(1000) * 3).tolist()
        assert seen.pop() == (x.unsafe_buffer_pointer(), False, out.unsafe_buffer_pointer())


@pytest.mark.parametrize("dtype", ["int8", "uint32", "float16", "bfloat16", "float32", "complex64"])
def test_types_of_elements(dtype):
    x = jnp.arange(6).astype(dtype)
    out = jax.jit(operator(launch, like_first))(x, x)
    assert out.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(out), np.asarray(x * x))


def test_types_that_kernels_lack():
    x = jnp.ones(3, jnp.float8_e4m3fn)
    with pytest.raises(Exception, match="argument 0 has XLA's element type 20, which kernels lack"):
        operator(launch, like_first)(x, x)


def test_errors_of_kernels_are_raised_in_jax():
    op = jax.jit(operator(launch, like_first))
    with pytest.raises(Exception, match=r"IndexError: .*out of bounds"):
        op(jnp.ones(8), jnp.ones(3)).block_until_ready()
    # Arguments are read-only.
    wrong = operator(lambda x, out: grow[1, 64](out, x), like_first)
    with pytest.raises(Exception, match=r"(?s)read-only"):
        wrong(jnp.ones(3)).block_until_ready()
    assert op(jnp.ones(2), jnp.ones(2)).tolist() == [1, 1]


@pytest.mark.parametrize("method", ["sequential", "expand_dims"])
def test_batches(method):
    shapes = []

    def flat(x, y, out):
        shapes.append(x.shape)
        launch(x.reshape(-1), np.broadcast_to(y, out.shape).reshape(-1).copy(), out.reshape(-1))

    op = operator(flat, like_first, vmap_method=method)
    x, y = jnp.arange(12.0).reshape(3, 4), jnp.arange(4.0)
    out = jax.vmap(op, in_axes=(0, None))(x, y)
    np.testing.assert_array_equal(np.asarray(out), np.asarray(x * y))
    assert shapes == ([(4,)] * 3 if method == "sequential" else [(3, 4)])


def test_several_results_aliases_and_nothing():
    def both(x, y, first, second):
        launch(x, y, first)
        launch(y, y, second)

    op = jax.jit(operator(both, lambda x, y: [like_first(x), like_first(y)]))
    first, second = op(jnp.arange(4.0), jnp.full(4, 3.0))
    assert (first.tolist(), second.tolist()) == ([0, 3, 6, 9], [9] * 4)
    in_place = jax.jit(operator(lambda x, out: grow[1, 64](x, out), like_first, aliases={0: 0}))
    x = jnp.arange(4.0)
    assert in_place(x).tolist() == [1, 2, 3, 4] and x.tolist() == [0, 1, 2, 3]
    empty = operator(lambda x, out: None, like_first)(jnp.ones((0, 3)))
    assert empty.shape == (0, 3)


def test_the_device_is_that_of_the_operator():
    seen = []

    def told(x, y, out):
        seen.append(cuda.current_context().device.name)
        launch(x, y, out)

    with gridlane.device("interp"):
        op = jax.jit(operator(told, like_first))
    assert op(jnp.ones(4), jnp.ones(4)).tolist() == [1] * 4
    assert "interp" in str(seen[0])
