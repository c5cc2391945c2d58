"""``cudadrv.nvrtc``'s architectures: those that code is made for."""

from __future__ import annotations

import pytest

from gridlane.cuda import nvrtc as binding
from gridlane.cuda.host import settings
from gridlane.cuda.numba_compat import nvrtc


def test_the_closest_architecture():
    known = nvrtc.get_supported_ccs()
    assert [10 * a + b for a, b in known] == binding.nvrtcGetSupportedArchs()[1]
    for each in known:
        assert nvrtc.get_arch_option(*each) == "compute_{}{}".format(*each)
    assert nvrtc.get_arch_option(8, 5) == "compute_80"
    assert nvrtc.get_arch_option(1000, 0) == "compute_{}{}".format(*known[-1])
    assert nvrtc.get_arch_option(9, 0, "a") == "compute_90a"
    with pytest.raises(ValueError, match="Can't use arch-specific compute_990a"):
        nvrtc.get_arch_option(99, 0, "a")
    with pytest.raises(ValueError, match=r"capability 1\.0 is not supported"):
        nvrtc.get_arch_option(1, 0)


def test_an_architecture_by_the_settings(monkeypatch):
    monkeypatch.setattr(settings, "FORCE_CUDA_CC", (9, 0, "a"))
    assert nvrtc.get_arch_option(8, 0) == "compute_90a"
    assert nvrtc.nvrtcVersion() == binding.nvrtcVersion()
