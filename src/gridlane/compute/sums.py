"""Sums that a library computes, and the nest that reads them.

A statement adds up; another one sets the sums to zero at the same loops, and others may read them
there. Where one reader alone stores the sums as they are, its tensor is the library's result;
else what reads them stays a nest, in which the sums are a tensor.
"""

from __future__ import annotations

import ast
import copy
from typing import Any

import numpy as np

from gridlane.compute.model import Access, Nest, Statement
from gridlane.compute.tensors import Dim, TensorType
from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen
from gridlane.cuda.arrays.devicearray import DeviceNDArray


@frozen
class Destination:
    """Where sums go.

    Attributes:
        target: the tensor of the result, or None where ``rest`` reads the sums.
        axes: the order of the target's axes: that of ``loops``.
        sums: the name of the variable of sums, and the type of their tensor.
        rest: the nest that reads the sums; None where they are the result as they are.
    """

    target: str | None
    axes: tuple[int, ...]
    sums: tuple[str, TensorType]
    rest: Nest | None


def destination_of(
    nest: Nest,
    adder: Statement,
    loops: tuple[str, ...],
    extents: tuple[int | Dim, ...],
    total: DType,
    factors: tuple[Access, ...],
) -> Destination | None:
    """Where the sums of a statement go, if a library may compute them all at once.

    Args:
        adder: the statement that adds.
        loops: those of the results, and the order of their tensor's axes.
        extents: of that tensor.
        total: the type of the sums.
        factors: the elements that are multiplied.
    """
    name, outer = adder.write.name, set(loops)
    others = [each for each in nest.statements if each is not adder]
    starts = [each for each in others if each.write.name == name]
    readers = [each for each in others if each.write.name != name]
    if len(starts) != 1 or not is_zero(starts[0]):
        return None
    if starts[0].place > adder.place or loops_of(starts[0]) != outer:
        return None
    sums = name, TensorType(total, extents)
    if name in nest.tensors:
        if readers or starts[0].write.indices != adder.write.indices:
            return None
        return Destination(name, axes_of(adder.write, loops), sums, None)
    if not readers or any(loops_of(each) != outer for each in readers):
        return None
    if any(each.place < adder.place or each.tests for each in readers):
        return None
    names = {access.name for each in readers for access in (each.write, *each.reads)}
    written = {each.write.name for each in readers}
    if written & {each.name for each in factors} or name not in names:
        return None
    target = _plain_target(nest, loops, readers, (total, nest.tensors[factors[0].name].dtype))
    if target is not None:
        axes = axes_of(readers[0].write, loops)
        known = [str(nest.tensors[target].extents[each]) for each in axes]
        if known == [str(each) for each in extents]:  # else its other elements stay as they are
            return Destination(target, axes, sums, None)
    return Destination(None, (), sums, _rest(nest, loops, readers, sums))


def conversions_of(nest: Nest, statement: Statement) -> list[DType]:
    """The types that the factors of a statement are converted to."""
    calls = [each for each in ast.walk(statement.node.value) if isinstance(each, ast.Call)]
    return [nest.conversions[ast.unparse(each.func)] for each in calls]


def loops_of(statement: Statement) -> set[str]:
    """The names of the loops around a statement."""
    return {each.name for each in statement.loops}


def axes_of(access: Access, loops: tuple[str, ...]) -> tuple[int, ...]:
    """The places of loops among the indices of an access."""
    assert access.indices is not None
    return tuple([access.indices.index(each) for each in loops])


def is_zero(statement: Statement) -> bool:
    """Whether a statement assigns 0."""
    value = statement.node.value
    if isinstance(value, ast.Call) and len(value.args) == 1:
        value = value.args[0]  # such as f32(0): 0 in any type
    plain = isinstance(statement.node, ast.Assign) and isinstance(value, ast.Constant)
    return plain and value.value == 0 and not statement.tests  # type: ignore[union-attr]  # a constant


def _plain_target(
    nest: Nest, loops: tuple[str, ...], readers: list[Statement], kinds: tuple[DType, ...]
) -> str | None:
    """The tensor whose elements are the sums, in their type or rounded to the factors'."""
    if len(readers) != 1 or not isinstance(readers[0].node.value, ast.Name):
        return None
    write = readers[0].write
    if set(write.indices or ()) != set(loops) or isinstance(readers[0].node, ast.AugAssign):
        return None
    return write.name if nest.tensors[write.name].dtype in kinds else None


def _rest(
    nest: Nest, loops: tuple[str, ...], readers: list[Statement], sums: tuple[str, TensorType]
) -> Nest:
    """The nest of what reads the sums."""
    name, type_ = sums
    changed = [_with_tensor(each, loops, name) for each in readers]
    return Nest(
        f"{nest.name}_of_sums",
        (*nest.arguments, name),
        {**nest.tensors, name: type_},
        nest.scalars,
        nest.weak,
        nest.extents,
        tuple([each for each in nest.variables if each != name]),
        nest.captured,
        nest.conversions,
        tuple(changed),
        nest.place,
        nest.origins,
    )


def _with_tensor(statement: Statement, loops: tuple[str, ...], name: str) -> Statement:
    """A statement in which the variable of sums is a tensor."""
    texts = {each.name: each.text for each in statement.loops}

    class Renamer(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id != name:
                return node
            indices = [ast.Name(texts[each], ast.Load()) for each in loops]
            where = ast.Tuple(list[ast.expr](indices), ast.Load())
            return ast.copy_location(ast.Subscript(node, where, ast.Load()), node)

    node = Renamer().visit(copy.deepcopy(statement.node))
    reads = [
        Access(name, loops, each.loc) if each.name == name else each for each in statement.reads
    ]
    return Statement(
        statement.name, statement.loops, statement.domain, statement.place, node, statement.write,
        tuple(reads), statement.tests, statement.operator, statement.loc,
    )  # fmt: skip


def turned(array: Any, axes: tuple[int, ...]) -> Any:
    """A view of an array with its axes in an order."""
    if axes == tuple(range(len(axes))):
        return array
    if isinstance(array, DeviceNDArray):  # whose transpose() is a copy, as numba's
        shape, strides = ([each[axis] for axis in axes] for each in (array.shape, array.strides))
        place = array.stream, array.buffer, array.address, array.readonly
        return DeviceNDArray(tuple(shape), tuple(strides), array.dtype, *place)
    return array.permute(axes) if hasattr(array, "permute") else array.transpose(axes)


def are_ahead(arrays: list[Any]) -> bool:
    """Whether no array steps backward through memory, as those that a library writes."""
    for each in arrays:
        steps = getattr(each, "strides", None) or ()
        if any(step < 0 for step in (steps if isinstance(steps, tuple) else ())):
            return False
    return True


def in_memory(array: Any) -> Any:
    """An array as the library of algorithms takes it: a tensor of the host as NumPy's."""
    if isinstance(array, DeviceNDArray | np.ndarray) or getattr(array, "is_cuda", False):
        return array
    return array if hasattr(array, "__cuda_array_interface__") else np.asarray(array)


def is_in_lines(array: Any) -> bool:
    """Whether the elements of each row follow each other."""
    if hasattr(array, "stride"):
        return array.stride()[-1] == 1
    return array.strides[-1] == array.dtype.itemsize


def sums_array(type_: TensorType, extents: dict[str, int]) -> Any:
    """An array of the device for sums."""
    from gridlane import cuda
    from gridlane.compute.typing import CONVERSIONS, NAMES

    shape = tuple([e if isinstance(e, int) else extents[e.name] for e in type_.extents])
    return cuda.device_array(shape, np.dtype(CONVERSIONS[NAMES[str(type_.dtype)]]))
