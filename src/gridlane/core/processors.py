"""Names of processors and of their features, the setting that chooses one for the CPU target, and
how many there are.

The names are LLVM's: processors of 64 bits, and features that kernels' code may need. LLVM knows
the features of a processor (``codegen.llvm.machine``).
"""

from __future__ import annotations

import os

from gridlane.core.frozen import frozen

HOST = "host"
"""The processor that this process runs on."""

X86, ARM = "x86-64", "aarch64"
FAMILIES = {"x86_64": X86, "amd64": X86, "aarch64": ARM, "arm64": ARM}
"""The architectures, by the names of systems and of LLVM."""

PROCESSORS: dict[str, tuple[str, ...]] = {
    X86: (
        "x86-64",
        "x86-64-v2",
        "x86-64-v3",
        "x86-64-v4",
        "alderlake",
        "amdfam10",
        "arrowlake",
        "arrowlake-s",
        "atom",
        "athlon64",
        "barcelona",
        "bdver1",
        "bdver2",
        "bdver3",
        "bdver4",
        "bonnell",
        "broadwell",
        "btver1",
        "btver2",
        "cannonlake",
        "cascadelake",
        "clearwaterforest",
        "cooperlake",
        "core-avx-i",
        "core-avx2",
        "core2",
        "corei7",
        "corei7-avx",
        "diamondrapids",
        "emeraldrapids",
        "goldmont",
        "goldmont-plus",
        "gracemont",
        "grandridge",
        "graniterapids",
        "graniterapids-d",
        "haswell",
        "icelake-client",
        "icelake-server",
        "ivybridge",
        "k8",
        "k8-sse3",
        "lunarlake",
        "meteorlake",
        "nehalem",
        "nocona",
        "novalake",
        "opteron",
        "opteron-sse3",
        "pantherlake",
        "penryn",
        "raptorlake",
        "rocketlake",
        "sandybridge",
        "sapphirerapids",
        "sierraforest",
        "silvermont",
        "skylake",
        "skylake-avx512",
        "tigerlake",
        "tremont",
        "westmere",
        "wildcatlake",
        "znver1",
        "znver2",
        "znver3",
        "znver4",
        "znver5",
    ),
    ARM: (
        "generic",
        "a64fx",
        "ampere1",
        "ampere1a",
        "ampere1b",
        "ampere1c",
        *(f"apple-a{n}" for n in range(7, 20)),
        "apple-m1",
        "apple-m2",
        "apple-m3",
        "apple-m4",
        "apple-m5",
        "carmel",
        "cobalt-100",
        "cortex-a34",
        "cortex-a35",
        "cortex-a53",
        "cortex-a55",
        "cortex-a57",
        "cortex-a65",
        "cortex-a72",
        "cortex-a73",
        "cortex-a75",
        "cortex-a76",
        "cortex-a77",
        "cortex-a78",
        "cortex-a320",
        "cortex-a510",
        "cortex-a520",
        "cortex-a710",
        "cortex-a715",
        "cortex-a720",
        "cortex-a725",
        "cortex-x1",
        "cortex-x2",
        "cortex-x3",
        "cortex-x4",
        "cortex-x925",
        "exynos-m3",
        "exynos-m4",
        "exynos-m5",
        "falkor",
        "fujitsu-monaka",
        "gb10",
        "grace",
        "kryo",
        "neoverse-512tvb",
        "neoverse-e1",
        "neoverse-n1",
        "neoverse-n2",
        "neoverse-n3",
        "neoverse-v1",
        "neoverse-v2",
        "neoverse-v3",
        "olympus",
        "oryon-1",
        "saphira",
        "thunderx",
        "thunderx2t99",
        "thunderx3t110",
        "tsv110",
    ),
}
"""The processors of each architecture."""

LIBMVEC = "libmvec"
"""A feature of the system, not of the processor: glibc's vector functions are on the target."""

FEATURES: dict[str, tuple[str, ...]] = {
    X86: (
        "adx",
        "avx",
        "avx10.1",
        "avx10.2",
        "avx2",
        "avx512bf16",
        "avx512bitalg",
        "avx512bw",
        "avx512cd",
        "avx512dq",
        "avx512f",
        "avx512fp16",
        "avx512ifma",
        "avx512vbmi",
        "avx512vbmi2",
        "avx512vl",
        "avx512vnni",
        "avx512vpopcntdq",
        "avxifma",
        "avxneconvert",
        "avxvnni",
        "avxvnniint16",
        "avxvnniint8",
        "bmi",
        "bmi2",
        "ccmp",
        "cf",
        "cmov",
        "crc32",
        "egpr",
        "f16c",
        "fma",
        "fma4",
        "gfni",
        "lzcnt",
        "movbe",
        "ndd",
        "nf",
        "pclmul",
        "popcnt",
        "ppx",
        "prfchw",
        "push2pop2",
        "sse3",
        "sse4.1",
        "sse4.2",
        "sse4a",
        "ssse3",
        "tbm",
        "vaes",
        "vpclmulqdq",
        "xop",
        "zu",
    ),
    ARM: (
        "aes",
        "bf16",
        "complxnum",
        "crc",
        "dotprod",
        "fp-armv8",
        "fp16fml",
        "fullfp16",
        "i8mm",
        "jsconv",
        "lse",
        "neon",
        "rcpc",
        "sha2",
        "sha3",
        "sm4",
        "sve",
        "sve2",
    ),
}
"""Features beyond the architecture's base that kernels' code may need."""


def available_processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@frozen
class Choice:
    """A processor by name, with features added and removed.

    Attributes:
        architecture: a key of ``PROCESSORS``; "" is the host's.
        processor: its name, or ``host``.
        changes: LLVM's notation of the features, as in ``("+fma", "-avx2")``, in order.
    """

    architecture: str
    processor: str
    changes: tuple[str, ...] = ()


def parse(text: str) -> Choice:
    """Parse ``NAME[,+feature,-feature...]``.

    >>> parse("haswell,-fma")
    Choice(architecture='x86-64', processor='haswell', changes=('-fma',))

    Raises:
        ValueError: a name or a feature is unknown; it lists near ones.
    """
    name, *changes = [word.strip() for word in text.split(",")]
    architecture = "" if name == HOST else _architecture(name)
    for change in changes:
        if change[:1] not in ("+", "-") or len(change) < 2:
            raise ValueError(f"{change!r} is no change of a feature: +NAME or -NAME")
        _require_feature(change[1:], name, architecture)
    return Choice(architecture, name, tuple(changes))


def _architecture(name: str) -> str:
    """The architecture of a processor, by its name."""
    for architecture, names in PROCESSORS.items():
        if name in names:
            return architecture
    known = [HOST, *(each for names in PROCESSORS.values() for each in names)]
    usual = "host, x86-64, x86-64-v3, generic (AArch64)"
    raise ValueError(f"no processor is called {name!r}; {_near(name, known, usual)}")


def _require_feature(feature: str, name: str, architecture: str) -> None:
    """Require that a feature is one of the architecture."""
    lists = [FEATURES[architecture]] if architecture else list(FEATURES.values())
    known = [LIBMVEC, *(each for names in lists for each in names)]
    if feature not in known:
        of = f"{name}'s architecture, {architecture}," if architecture else "no architecture"
        lacks = f"{of} has no feature {feature!r}" if architecture else f"{of} has {feature!r}"
        raise ValueError(f"{lacks}; {_near(feature, known, ', '.join(known[:6]))}")


def _near(name: str, known: list[str], usual: str) -> str:
    """Known names near a misspelled one."""
    from difflib import get_close_matches  # errors alone need it

    near = get_close_matches(name.lower(), known, 4, 0.5)
    return f"near: {', '.join(near)}" if near else f"some are: {usual}"
