"""Random sequences of calls until a time is over:
``python -m tests.abi.sequences --minutes 10 --out docs/call-sequences.md``.

Each sequence is a process of its own on libraries with AddressSanitizer and
UndefinedBehaviorSanitizer. Exit status 1 where one does not come to its end.
"""

from __future__ import annotations

import argparse
import datetime
import random
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.abi.sequences.running import Ended, built, run

_CALLS = 4000
"""Of a sequence."""
_TEXT = """# Random sequences of calls

`python -m tests.abi.sequences --minutes {minutes} --out docs/call-sequences.md` writes this page;
last on {date}.

`tests/abi/sequences/calls.py` makes random calls of every function that `libcuda.so.1` and
`libcudart.so.13` export, except those of its LEFT_OUT. The libraries are compiled with
`-fsanitize=address,undefined`, and the allocator of Python and numpy is AddressSanitizer's.

| | |
|---|--:|
| sequences, from seed {seed} | {sequences} |
| calls | {calls:,} |
| successful calls | {good:,} |
| returned error codes | {codes} |
| sequences with a fault | {bad} |
{found}"""


def main() -> int:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    counts: Counter[int] = Counter()
    found: list[str] = []
    end, seed = time.monotonic() + 60 * given.minutes, given.seed
    with TemporaryDirectory() as room:
        folder = built(Path(room))
        while time.monotonic() < end:
            try:
                counts += run(folder, seed, _CALLS, 600)
            except Ended as ended:
                print(f"seed {seed}: {ended}", file=sys.stderr, flush=True)
                found.append(f"- seed {seed}: {ended.what}")
            seed += 1
    made = _TEXT.format(
        minutes=f"{given.minutes:g}",
        date=datetime.date.today().isoformat(),
        seed=given.seed,
        sequences=seed - given.seed,
        calls=counts.total(),
        good=counts[0],
        codes=len(counts) - (0 in counts),
        bad=len(found),
        found="\n".join(["", *found, ""]) if found else "",
    )
    print(made)
    if given.out:
        given.out.write_text(made)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
