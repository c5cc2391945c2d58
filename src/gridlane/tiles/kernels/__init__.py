"""Tile kernels as functions of arrays: numpy's, gridlane's and torch's, on every device.

    >>> import numpy as np
    >>> from gridlane.tiles import kernels
    >>> kernels.softmax(np.zeros((2, 4), np.float32))
    array([[0.25, 0.25, 0.25, 0.25],
           [0.25, 0.25, 0.25, 0.25]], dtype=float32)

A function launches on this thread's device. Its result is an array of the kind of its first
argument, or the array that ``out`` names.
"""

from __future__ import annotations

from gridlane.tiles.kernels.attentions import (
    attention,
    attention_backward,
    packed_attention,
    packed_attention_backward,
)
from gridlane.tiles.kernels.channel_norms import (
    batch_norm,
    batch_norm_backward,
    group_norm,
    instance_norm,
)
from gridlane.tiles.kernels.convolutions import convolution
from gridlane.tiles.kernels.embeddings import embedding, embedding_backward
from gridlane.tiles.kernels.grouped_gradients import grouped_weight_gradient
from gridlane.tiles.kernels.int4_products import int4_matmul
from gridlane.tiles.kernels.losses import cross_entropy, cross_entropy_backward
from gridlane.tiles.kernels.norm_gradients import layer_norm_backward, rms_norm_backward
from gridlane.tiles.kernels.norms import layer_norm, rms_norm
from gridlane.tiles.kernels.paged import paged_attention
from gridlane.tiles.kernels.prefills import append_paged, packed_positions, paged_prefill
from gridlane.tiles.kernels.products import grouped_matmul, matmul
from gridlane.tiles.kernels.rotary import rope
from gridlane.tiles.kernels.scaled_products import scaled_matmul
from gridlane.tiles.kernels.softmaxes import (
    log_softmax,
    log_softmax_backward,
    softmax,
    softmax_backward,
)
from gridlane.tiles.kernels.sparse_attentions import sparse_attention

__all__ = [
    "append_paged",
    "attention",
    "attention_backward",
    "batch_norm",
    "batch_norm_backward",
    "convolution",
    "cross_entropy",
    "cross_entropy_backward",
    "embedding",
    "embedding_backward",
    "group_norm",
    "grouped_matmul",
    "grouped_weight_gradient",
    "instance_norm",
    "int4_matmul",
    "layer_norm",
    "layer_norm_backward",
    "log_softmax",
    "log_softmax_backward",
    "matmul",
    "packed_attention",
    "packed_attention_backward",
    "packed_positions",
    "paged_attention",
    "paged_prefill",
    "rms_norm",
    "rms_norm_backward",
    "rope",
    "scaled_matmul",
    "softmax",
    "softmax_backward",
    "sparse_attention",
]
