"""Kernels of a few instructions, whose threads each write a word."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np

from gridlane import cuda
from gridlane.launch import current
from gridlane.launch.devices import get_device

_TEXT = """.version {version}
.target {target}
.address_size 64
{module}
.visible .entry k(.param .u64 source, .param .u64 made) {{
.reg .pred %p<20>; .reg .b16 %h<40>; .reg .b32 %r<60>; .reg .b64 %rd<60>;
.reg .f32 %f<40>; .reg .f64 %fd<40>;
.reg .b64 %source, %made, %own; .reg .b32 %t, %result;
ld.param.u64 %source, [source]; cvta.to.global.u64 %source, %source;
ld.param.u64 %made, [made]; cvta.to.global.u64 %made, %made;
mov.u32 %t, %tid.x;
mul.wide.u32 %own, %t, 4; add.u64 %own, %own, %made;
{body}
st.global.u32 [%own], %result;
ret;
}}
"""


def text_of(body: str, module: str = "", target: str = "sm_90", version: str = "8.8") -> str:
    """A module whose kernel ``k`` runs the body; each thread writes ``%result``.

    The body has the registers ``%t``, ``%source`` and ``%made`` (global addresses), ``%p<20>``,
    ``%h<40>``, ``%r<60>``, ``%rd<60>``, ``%f<40>``, ``%fd<40>``.
    """
    return _TEXT.format(body=body, module=module, target=target, version=version)


def results(
    device: str,
    body: str,
    threads: int = 32,
    source: np.ndarray | None = None,
    module: str = "",
    target: str = "sm_90",
    via: str = "",
) -> np.ndarray:
    """What the threads of a block write."""
    current.choose(get_device(device))
    made = np.zeros(threads, np.uint32)
    given = np.zeros(1, np.uint32) if source is None else source
    kernel = cuda.RawModule(code=text_of(body, module, target), via=via).get_function("k")
    kernel((1,), (threads,), (given, made))
    return made


def refused_by_ptxas(text: str, folder: Path, target: str = "sm_90") -> list[str]:
    """The lines that ptxas refuses, each with the reason."""
    source = folder / "forms.ptx"
    source.write_text(text)
    command = ["ptxas", f"-arch={target}", "-O0", "-o", str(folder / "forms.cubin"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = text.split("\n")
    found = re.findall(r"line (\d+); error\s*:\s*(.*)", done.stderr)
    refused = [f"{lines[int(line) - 1]} {reason}" for line, reason in found]
    assert refused or done.returncode == 0, done.stderr
    return refused


PTXAS = shutil.which("ptxas") is not None
