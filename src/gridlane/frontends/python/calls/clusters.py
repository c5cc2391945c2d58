"""Clusters of blocks: their numbers, their barrier, the shared memory of others."""

from __future__ import annotations

from gridlane.core.dtypes import u32
from gridlane.core.errors import TypingError
from gridlane.frontends.python import stubs
from gridlane.frontends.python.calls.registry import handles
from gridlane.frontends.python.operands import NONE, ArrayView, Operand, Scalar
from gridlane.frontends.python.translator import Translator
from gridlane.ir.ops import clusters, memory
from gridlane.ir.types import Space


@handles(stubs.cluster_rank)
def _rank(t: Translator) -> Operand:
    return Scalar(t.b.value(clusters.ClusterRank()))


@handles(stubs.cluster_size)
def _size(t: Translator) -> Operand:
    return Scalar(t.b.value(clusters.ClusterSize()))


@handles(stubs.cluster_sync)
def _sync(t: Translator) -> Operand:
    t.b.emit(clusters.ClusterSync())
    return NONE


@handles(stubs.address_of)
def _address_of(t: Translator, array: Operand) -> Operand:
    if not isinstance(array, ArrayView):
        raise t.fail(TypingError, f"address_of() takes an array, not {array.type_name}")
    return Scalar(t.b.value(memory.Address(array.pointer)))


@handles(stubs.peer_address)
def _peer_address(t: Translator, array: Operand, rank: Operand) -> Operand:
    if not isinstance(array, ArrayView) or array.space is not Space.SHARED:
        raise t.fail(TypingError, f"peer_address() takes a shared array, not {array.type_name}")
    if not isinstance(rank, Scalar) or not rank.dtype.is_integer:
        raise t.fail(TypingError, f"the rank of a block is an integer, not {rank.type_name}")
    number = t.b.cast(rank.value, u32)
    return Scalar(t.b.value(clusters.PeerAddress(array.pointer, number)))
