"""The tones of a noisy signal, by a Fourier transform."""

from __future__ import annotations

import math
from argparse import Namespace

import numpy as np

from gridlane import xp
from gridlane.demos import pictures
from gridlane.demos.checking import check, run

_TONES = 440, 1000, 1320
_RATE = 8000


def demo(options: Namespace) -> None:
    """Find three tones, and compare the transform with NumPy's."""
    count = options.size
    times = xp.arange(count) / _RATE
    noise = xp.random.default_rng(9).standard_normal(count)
    signal = sum(xp.sin(2 * math.pi * tone * times) for tone in _TONES) + noise
    parts = xp.fft.rfft(signal)
    power = xp.abs(parts) ** 2
    frequencies = xp.fft.rfftfreq(count, 1 / _RATE)

    loudest = xp.top_k(power, 3).indices
    found = np.sort(np.asarray(frequencies)[np.asarray(loudest)])
    wide = count // 40
    in_bands = xp.sum(xp.reshape(power[: 20 * wide], (20, wide)), axis=1)
    print(pictures.bars(in_bands, [f"{_RATE // 40 * each} Hz" for each in range(20)]))
    check("the tones", found, _TONES, 2 * _RATE / count / max(_TONES))
    check("the transform", parts, np.fft.rfft(np.asarray(signal)), 1e-12)


if __name__ == "__main__":
    run(demo, size=8000)
