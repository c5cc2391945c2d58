"""The engine's headers that follow from the layouts, judged by compilers of C and of CUDA C++."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scripts.actor_headers import NUMBERS, STRUCTS
from tests.actors.layouts.test_blocks import OFFSETS

from gridlane import cuda
from gridlane.actors.errors import Reason
from gridlane.actors.layouts import ring

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "scripts" / "actor_headers.py"
ENGINE = ROOT / "src" / "gridlane" / "actors" / "engine"
TICKETS = (0, 1, 7, 8, 9, 63, 64, 1 << 20, (1 << 32) - 1, 1 << 32, (1 << 36) + 5, (1 << 62) + 3)
SHIFTS = (0, 1, 3, 6, 20)
SLOT = 192


def compiled(folder: Path, source: str, *more: str) -> Path:
    """A program in C with the engine's headers."""
    if not shutil.which("gcc"):
        pytest.skip("gcc is not installed")
    (folder / "test.c").write_text(source)
    command = ["gcc", "-std=c11", "-Wall", "-Werror", f"-I{ENGINE}", *more, "test.c", "-o", "test"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "test"


def test_the_files_are_what_the_script_makes():
    command = [sys.executable, str(SCRIPT), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"run scripts/actor_headers.py\n{done.stdout}{done.stderr}"


def test_offsets_and_numbers_of_c_are_those_of_the_layouts(tmp_path):
    facts = {
        f"{name}.{field.name}": f"offsetof({name}, {field.name}) == {field.offset}"
        f" && sizeof((({name} *)0)->{field.name}) == {field.size}"
        for name, (layout, _) in STRUCTS.items()
        for field in layout.fields
    }
    facts |= {name: f"sizeof({name}) == {each.size}" for name, (each, _) in STRUCTS.items()}
    for module, names in NUMBERS:
        facts |= {name: f"GL_{name} == {getattr(module, name)}" for name in names.split()}
    facts |= {each.name: f"GL_{each.name} == {int(each)}" for each in Reason}
    assert len(facts) > 150
    lines = [f'_Static_assert({fact}, "{name}");' for name, fact in facts.items()]
    head = '#include "layout.h"\n#include <stddef.h>\n'
    compiled(tmp_path, head + "\n".join([*lines, "int main(void) { return 0; }\n"]))


def test_each_structure_with_written_offsets_is_one_of_c():
    """Those that only kernels and Python have are named here."""
    ours = {"RouteEntry", "RoutingTable", "HaloHeader"}
    assert {each.name for each, _ in STRUCTS.values()} >= OFFSETS.keys() - ours


PLACES = """
#include <stdio.h>
#include "ring.h"
static uint8_t slots[64];
int main(void)
{
    unsigned long long ticket, head;
    unsigned shift;
    while (scanf("%llu %llu %u", &ticket, &head, &shift) == 3)
        printf("%llu %u %lld %lld\\n", (unsigned long long)gl_index_of(ticket, shift),
               gl_sequence_of(ticket, shift), (long long)gl_free_of(head, ticket, shift),
               (long long)((uint8_t *)gl_place_of(slots, ticket, shift, 192) - slots));
}
"""


@cuda.jit
def places(tickets, heads, shifts, out):
    """The same in the dialect."""
    n = cuda.grid(1)
    if n < tickets.size:
        ticket, shift = tickets[n], shifts[n]
        out[n, 0] = ring.index_of(ticket, shift)
        out[n, 1] = cuda.int64(ring.sequence_of(ticket, shift))
        out[n, 2] = ring.free_of(heads[n], ticket, shift)
        out[n, 3] = ring.place_of(cuda.int64(0), ticket, shift, cuda.int64(SLOT))


def expected(ticket: int, head: int, shift: int) -> list[int]:
    """By Python's integers."""
    slot, lap = ticket % 2**shift, ticket // 2**shift
    return [slot, (lap + 1) % 2**32, 2**shift - (ticket - head), slot * SLOT]


def test_places_are_the_same_in_c_and_the_dialect(tmp_path):
    cases = [(t, max(t - back, 0), s) for t in TICKETS for s in SHIFTS for back in (0, 1, 2**s)]
    right = [expected(*case) for case in cases]
    program = compiled(tmp_path, PLACES, "-Wno-unused-function")
    text = "\n".join(" ".join(map(str, case)) for case in cases)
    printed = subprocess.run(
        [program], input=text, capture_output=True, text=True, check=True
    ).stdout
    assert [list(map(int, line.split())) for line in printed.splitlines()] == right
    tickets, heads, shifts = (np.array(each, np.int64) for each in zip(*cases))
    out = np.zeros((len(cases), 4), np.int64)
    places[-(-len(cases) // 64), 64](tickets, heads, shifts, out)
    assert out.tolist() == right


MESSAGES = """
#include <stdio.h>
#include "ring.h"
int main(void)
{
    static gl_chunk slot[16];
    for (uint32_t size = 0; size <= 100; size++) {
        uint8_t from[100], to[16 * GL_PIECE];
        uint32_t chunks = (size + GL_PIECE - 1) / GL_PIECE;
        for (uint32_t n = 0; n < size; n++)
            from[n] = (uint8_t)(size + 3 * n);
        if (size && gl_peek(slot, to, chunks, size + 1))
            return 1; /* it is not there yet */
        gl_push(slot, from, size, size + 1);
        if (!gl_peek(slot, to, chunks, size + 1) || memcmp(from, to, size))
            return 2;
        if (chunks && gl_peek(slot, to, chunks + 1, size + 1))
            return 3; /* the next chunk is of another message */
    }
    return 0;
}
"""


def test_what_is_pushed_is_peeked(tmp_path):
    program = compiled(tmp_path, MESSAGES, "-Wno-unused-function")
    assert subprocess.run([program]).returncode == 0


DEVICE = """
#include "ring.h"
__global__ void hand(uint8_t *slots, uint64_t ticket, uint32_t shift, uint32_t *words)
{
    uint32_t piece[3] = {words[0], words[1], words[2]}, back[3];
    gl_chunk *at = gl_place_of(slots, ticket, shift, 64) + threadIdx.x;
    gl_push_chunk(at, piece, 12, gl_sequence_of(ticket, shift));
    while (!gl_peek_chunk(at, back, gl_sequence_of(ticket, shift)))
        continue;
    words[0] = back[0] + gl_free_of(ticket, ticket, shift);
    gl_push(at, words, 100, 1);
}
"""


def test_cuda_reads_and_writes_a_chunk_by_one_access(tmp_path):
    if not shutil.which("nvcc"):
        pytest.skip("nvcc is not installed")
    (tmp_path / "ring.cu").write_text(DEVICE)
    command = ["nvcc", "-ptx", "-arch=sm_90", "-Werror", "all-warnings", "-diag-suppress", "177"]
    done = subprocess.run(
        [*command, f"-I{ENGINE}", "ring.cu", "-o", "ring.ptx"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "ring.ptx").read_text()
    assert "st.volatile.v4.u32" in text and "ld.volatile.v4.u32" in text
