"""Count what the corpus is made of, run it, and write the tables of docs/ptx-corpus.md:
``python -m tests.peers.corpus.report --out docs/ptx-corpus.md``.

Exit status 1 where a result is wrong or a program ends its process.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections import Counter
from pathlib import Path

from tests.peers.corpus import PROGRAMS, VARIANTS
from tests.peers.corpus.counting import Counted, counted, reason
from tests.peers.corpus.packages import REQUIREMENTS, texts
from tests.peers.corpus.programs import DEVICES, Outcome, variants
from tests.peers.corpus.running import Runner

Runs = dict[tuple[str, str, str], Outcome]
"""What came of a program, by its name, variant and device."""


def main() -> int:
    """Count, run, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    kernels = [each for package in VARIANTS for text in texts(package) for each in counted(text)]
    runs = _runs()
    made = _TEXT.format(
        date=datetime.date.today().isoformat(),
        packages="\n".join(f"- {name}: {', '.join(wanted)}" for name, wanted in _packages()),
        kernels=_kernels(kernels),
        programs=_programs(runs),
        refusals=_refusals(kernels),
        opcodes=_opcodes(kernels),
        modifiers=_modifiers(kernels),
        growth=_growth(kernels),
    )
    if given.out is None:
        print(made)
    else:
        given.out.write_text(made)
    return int(any(each.kind in ("wrong", "ended") for each in runs.values()))


def _packages() -> list[tuple[str, list[str]]]:
    return [(name, [f"`{each}`" for each in REQUIREMENTS[name]]) for name in VARIANTS]


def _runs() -> Runs:
    runner, made = Runner(), {}
    for number, program in enumerate(PROGRAMS):
        for text in variants(program):
            for device in DEVICES:
                found = runner.outcome(number, text, device)
                made[f"{program.package}-{program.name}", text.variant, device] = found
                if found.kind in ("wrong", "ended"):
                    print(program.package, program.name, text.variant, device, found, flush=True)
    runner.close()
    return made


def _table(head: list[str], rows: list[list[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _kernels(kernels: list[Counted]) -> str:
    rows: list[list[object]] = []
    for package in VARIANTS:
        for variant in VARIANTS[package]:
            own = [e for e in kernels if (e.text.package, e.text.variant) == (package, variant)]
            taken = [each for each in own if not each.refused]
            before, after = (sum(e.before for e in taken), sum(e.after for e in taken))
            instructions = sum(sum(each.spellings.values()) for each in own)
            blocks = sum(each.blocks for each in own)
            refused = len(own) - len(taken)
            rows.append([package, variant, len(own), instructions, blocks, before, after, refused])
    head = ["package", "for", "kernels", "instructions", "blocks", "ops", "structured", "refused"]
    return _table(head, rows)


def _growth(kernels: list[Counted]) -> str:
    most = max((each for each in kernels if each.before), key=lambda each: each.after / each.before)
    return (
        f"The kernel that grows most by structuring is `{most.name}` of {most.text.package}: to "
        f"{most.after / most.before:.3f} of its ops, the branches and blocks among them."
    )


def _programs(runs: Runs) -> str:
    rows: list[list[object]] = []
    for package in VARIANTS:
        for device in DEVICES:
            found = Counter(
                outcome.kind
                for (name, _, on), outcome in runs.items()
                if name.partition("-")[0] == package and on == device
            )
            kinds = [found[kind] for kind in ("right", "refused", "waits", "wrong", "ended")]
            rows.append([package, f"`{device}`", *kinds])
    return _table(["package", "device", "right", "refused", "waits", "wrong", "crashed"], rows)


def _refusals(kernels: list[Counted]) -> str:
    reasons: Counter[str] = Counter()
    example: dict[str, str] = {}
    for each in kernels:
        if each.refused:
            found = reason(each.refused)
            reasons[found] += 1
            example.setdefault(found, f"{each.text.package}, `{_short(each)}`")
    ranked = sorted(reasons.items(), key=lambda row: (-row[1], row[0]))
    return _table(
        ["kernels", "reason", "one of them"],
        [[count, each.replace("|", "\\|"), example[each]] for each, count in ranked],
    )


def _short(each: Counted) -> str:
    names = {there: name for name, there in each.text.meta.get("names", {}).items()}
    return names.get(each.name, each.name)


def _opcodes(kernels: list[Counted]) -> str:
    total, within, spellings, unknown = Counter(), Counter(), Counter(), Counter()
    seen: dict[str, set[str]] = {}
    for each in kernels:
        roots = each.roots
        total.update(roots)
        within.update(roots.keys())
        for spelling in each.spellings:
            seen.setdefault(spelling.split(".")[0], set()).add(spelling)
        for spelling in each.unknown:
            unknown[spelling.split(".")[0]] += 1
    spellings.update({root: len(found) for root, found in seen.items()})
    ranked = sorted(total, key=lambda root: (-within[root], root))
    rows: list[list[object]] = [
        [f"`{root}`", within[root], total[root], spellings[root], unknown[root] or ""]
        for root in ranked
    ]
    return _table(
        ["opcode", "kernels", "instructions", "spellings", "kernels with one refused"], rows
    )


def _modifiers(kernels: list[Counted]) -> str:
    within: Counter[str] = Counter()
    for each in kernels:
        within.update({word for spelling in each.spellings for word in spelling.split(".")[1:]})
    ranked = sorted(within, key=lambda word: (-within[word], word))
    return ", ".join(f"`.{word}` {within[word]}" for word in ranked)


_TEXT = """# PTX of other compilers

`python -m tests.peers.corpus.report --out docs/ptx-corpus.md` writes this page; last on {date}.

Other compilers compile kernels to PTX, without a GPU: Triton, tinygrad and Warp the kernels of
`tests/peers/corpus/make_*.py`, NVRTC the CUDA C++ of `tests/peers/corpus/cuda/`, also without
optimisation (`-G`). Each program runs on the interpreter and on CPUs, and its results are compared
with numpy. `pytest tests/peers --ptx` installs the packages and runs all of it.

{packages}

## Programs

A program is one kernel, or of tinygrad the kernels of one graph; each is compiled for two or three
targets. *waits*: warps of a block wait for each other in a loop, which the launch reports after
`GRIDLANE_SPIN_LIMIT` seconds.

{programs}

## Kernels

Ops are those of the IR before and after structuring, without constants.

{kernels}

{growth}

## Refused programs

By the first reason in a kernel.

{refusals}

## Opcodes

{opcodes}

## Modifiers

The number of kernels that have each: {modifiers}.
"""


if __name__ == "__main__":
    sys.exit(main())
