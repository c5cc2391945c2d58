"""A transformer of one layer learns to write a text, by tile kernels and their gradients.

The gradient is compared with a difference of losses; then the model is trained, and its loss must
fall.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from gridlane.tiles import kernels

TEXT = "she sells sea shells by the sea shore and the shells she sells are sea shells, i am sure "

STEP = 0.005
"""How far parameters are moved to compare the gradient with a difference: losses are of float32."""


class Model:
    """Parameters and how far each is from the loss."""

    def __init__(self, rng: np.random.Generator, letters: int, width: int, heads: int):
        def random(*shape: int) -> np.ndarray:
            return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)

        self.heads = heads
        self.parameters = {
            "table": random(letters, width),
            "first": np.ones(width, np.float32),
            "qkv": random(width, 3 * width),
            "joined": random(width, width),
            "second": np.ones(width, np.float32),
            "up": random(width, 4 * width),
            "down": random(4 * width, width),
            "last": np.ones(width, np.float32),
            "letters": random(width, letters),
        }

    def turns(self, length: int) -> tuple[np.ndarray, np.ndarray]:
        half = self.parameters["table"].shape[1] // self.heads // 2
        angles = np.arange(length)[:, None] / 100.0 ** (np.arange(half) / half)
        return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)

    def loss(self, text: np.ndarray, targets: np.ndarray) -> tuple[float, dict[str, np.ndarray]]:
        """The loss of (batch, length) letters, and its gradients."""
        p, (batch, length) = self.parameters, text.shape
        turns = self.turns(length)

        def split(x: np.ndarray) -> np.ndarray:
            return x.reshape(batch, length, self.heads, -1).transpose(0, 2, 1, 3)

        def join(x: np.ndarray) -> np.ndarray:
            return x.transpose(0, 2, 1, 3).reshape(batch * length, -1)

        x0 = kernels.embedding(p["table"], text.ravel())
        h1 = kernels.rms_norm(x0, p["first"])
        q, k, v = (split(x) for x in np.split(kernels.matmul(h1, p["qkv"]), 3, axis=1))
        q, k = kernels.rope(q, *turns), kernels.rope(k, *turns)
        seen, logs = kernels.attention(q, k, v, causal=True, return_logs=True)
        x1 = kernels.matmul(join(seen), p["joined"], residual=x0)
        h2 = kernels.rms_norm(x1, p["second"])
        up = kernels.matmul(h2, p["up"], activation="relu")
        x2 = kernels.matmul(up, p["down"], residual=x1)
        h3 = kernels.rms_norm(x2, p["last"])
        logits = kernels.matmul(h3, p["letters"])
        loss = float(kernels.cross_entropy(logits, targets.ravel()))

        g: dict[str, np.ndarray] = {}
        d = kernels.cross_entropy_backward(1.0, logits, targets.ravel(), logits)
        g["letters"] = kernels.matmul(h3.T, d)
        d, g["last"] = kernels.rms_norm_backward(kernels.matmul(d, p["letters"].T), x2, p["last"])
        d_up = kernels.matmul(d, p["down"].T) * (up > 0)
        g["down"], g["up"] = kernels.matmul(up.T, d), kernels.matmul(h2.T, d_up)
        more, g["second"] = kernels.rms_norm_backward(
            kernels.matmul(d_up, p["up"].T), x1, p["second"]
        )
        d = d + more
        g["joined"] = kernels.matmul(join(seen).T, d)
        d_seen = split(kernels.matmul(d, p["joined"].T))
        dq, dk, dv = kernels.attention_backward(d_seen, q, k, v, seen, logs, causal=True)
        dq, dk = (kernels.rope(x, *turns, inverse=True) for x in (dq, dk))
        d_qkv = np.concatenate([join(x) for x in (dq, dk, dv)], axis=1)
        g["qkv"] = kernels.matmul(h1.T, d_qkv)
        more, g["first"] = kernels.rms_norm_backward(
            kernels.matmul(d_qkv, p["qkv"].T), x0, p["first"]
        )
        g["table"] = kernels.embedding_backward(d + more, text.ravel(), len(p["table"]))
        return loss, g


def gradient_error(model: Model, text: np.ndarray, targets: np.ndarray) -> float:
    """How far the slope along the gradient is from a difference of losses."""
    _, gradients = model.loss(text, targets)
    slope = np.sqrt(sum(np.sum(g.astype(np.float64) ** 2) for g in gradients.values()))
    start, losses = model.parameters, []
    for step in (STEP, -STEP):
        model.parameters = {
            name: x + np.float32(step / slope) * gradients[name] for name, x in start.items()
        }
        losses.append(model.loss(text, targets)[0])
    model.parameters = start
    return abs((losses[0] - losses[1]) / (2 * STEP) - slope) / slope


def train(model: Model, text: np.ndarray, targets: np.ndarray, steps: int) -> list[float]:
    """Losses on the way, by Adam (Kingma & Ba 2014)."""
    means = {name: np.zeros_like(x) for name, x in model.parameters.items()}
    squares = {name: np.zeros_like(x) for name, x in model.parameters.items()}
    losses = []
    for step in range(1, steps + 1):
        loss, gradients = model.loss(text, targets)
        losses.append(loss)
        for name, g in gradients.items():
            means[name] += (g - means[name]) * np.float32(0.1)
            squares[name] += (g * g - squares[name]) * np.float32(0.01)
            mean, square = means[name] / (1 - 0.9**step), squares[name] / (1 - 0.99**step)
            change = 0.01 * mean / (np.sqrt(square) + 1e-8)
            model.parameters[name] -= change.astype(np.float32)
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()

    rng = np.random.default_rng(1)
    known = sorted(set(TEXT))
    numbers = np.array([known.index(each) for each in TEXT * (args.length // len(TEXT) + 2)])
    starts = rng.integers(0, len(TEXT), args.batch)
    text, targets = (
        np.stack([numbers[each + shift : each + shift + args.length] for each in starts])
        for shift in (0, 1)
    )
    model = Model(rng, len(known), args.width, 4)
    error = gradient_error(model, text, targets)
    if not error < 1e-2:
        sys.exit(f"tile_transformer: wrong, the gradient is off by {error:.1e}")
    start = time.perf_counter()
    losses = train(model, text, targets, args.steps)
    time_ms = (time.perf_counter() - start) * 1e3 / args.steps
    if not losses[-1] < losses[0] * 0.9 ** min(args.steps, 20):
        sys.exit(f"tile_transformer: wrong, the loss went from {losses[0]:.2f} to {losses[-1]:.2f}")
    print(
        f"tile_transformer: loss {losses[0]:.2f} to {losses[-1]:.3f} in {args.steps} steps, "
        f"gradient error {error:.1e}, {time_ms:.1f} ms a step"
    )


if __name__ == "__main__":
    main()
