"""Write the headers of the actors' engine that follow from src/gridlane/actors/layouts.

    python scripts/actor_headers.py          write engine/layout.h and engine/ring.h
    python scripts/actor_headers.py --check  exit with 1 and the difference where one is stale

engine/layout.h has the structures and the numbers that C shares with Python and with kernels.
engine/ring.h has the ring of chunks, for C and for CUDA C++: the functions of layouts/ring.py, and
how a chunk is read and written.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path
from types import ModuleType

from gridlane.actors.errors import Reason
from gridlane.actors.layouts import blocks, ring, shared, step, wire
from gridlane.actors.layouts.schema import Array, Field, Layout
from gridlane.actors.values import states

ENGINE = Path(__file__).parents[1] / "src/gridlane/actors/engine"
WIDTH = 100
MADE = "/* Made by scripts/actor_headers.py of actors/layouts, not by hand."

STRUCTS: dict[str, tuple[Layout, str]] = {
    "gl_clock": (blocks.Clock, ""),
    "gl_header": (blocks.MessageHeader, "sequence"),
    "gl_control": (
        blocks.ControlBlock,
        "state command heartbeat received answered failed dead last_message busy error inbox_high "
        "outbox_high idle",
    ),
    "gl_inbox": (blocks.InboxHeader, "tail head high_water dead"),
    "gl_histogram": (blocks.Histogram, "total largest buckets"),
    "gl_latencies": (blocks.Latencies, ""),
    "gl_output": (step.Output, ""),
    "gl_wire_header": (wire.WireHeader, ""),
    "gl_wire_answer": (wire.WireAnswer, ""),
    "gl_orders": (wire.Orders, "order version out_head requests"),
    "gl_status": (
        wire.Status, "order beats head out_tail version source physical logical"
    ),
    "gl_shared": (shared.SharedInbox, "bell asleep closed unused_too"),
    "gl_seat": (shared.Seat, "owner reply bell asleep"),
}  # fmt: skip
"""The structures by their names in C, and their fields that several threads access."""

NUMBERS: tuple[tuple[ModuleType, str], ...] = (
    (blocks, "MAGIC VERSION IS_REPLY IS_PUBLISHED BUCKETS"),
    (blocks, "POSTED IS_FULL NO_MEMORY HOST_GONE"),
    (blocks, "EVENT_POST EVENT_HANDLE EVENT_ANSWER EVENT_DEAD"),
    (states, "ACCEPTS RUNS"),
    (step, "REPLY SEND PUBLISH UNHANDLED FIRST COUNT HANDLED EMITTED INFO_WORDS"),
    (wire, "LEAVE RUN PARK STOP PLACES DIRECT NUMBER_BITS GENERATION_BITS"),
    (wire, "KIND_SHIFT REASON_SHIFT HEADER_CHUNKS ANSWER_CHUNKS"),
    (shared, "SHARED_MAGIC LETTERS SEATS"),
)
"""Constants; ``NAME`` is ``GL_NAME`` in C."""

LAYOUT = f"""\
{MADE} The structures and
   numbers that C shares with Python and with kernels; the layouts say what the fields mean. */
#ifndef GRIDLANE_ACTORS_LAYOUT_H
#define GRIDLANE_ACTORS_LAYOUT_H

#include <stdatomic.h>
#include <stdint.h>
"""

RING = f"""\
{MADE} The ring of chunks
   between the host and resident kernels, in C and in CUDA C++. Memory order: a device reads or
   writes a chunk by one access. The host writes its sequence word last, and reads it first. */
#ifndef GRIDLANE_ACTORS_RING_H
#define GRIDLANE_ACTORS_RING_H

#include <stdint.h>
#include <string.h>

#define GL_PIECE {wire.PIECE}u /* bytes of a message in a chunk */

#ifdef __CUDACC__
#define GL_RING __device__ static inline
typedef uint4 gl_chunk; /* the sequence word is `w` */

GL_RING void gl_push_chunk(gl_chunk *at, const void *piece, uint32_t bytes, uint32_t sequence)
{{
    uint32_t word[3] = {{0, 0, 0}};
    memcpy(word, piece, bytes);
    asm volatile("st.volatile.v4.u32 [%0], {{%1, %2, %3, %4}};" ::"l"(at), "r"(word[0]),
                 "r"(word[1]), "r"(word[2]), "r"(sequence) : "memory");
}}

/* Whether the chunk is there; its piece is written in any case. */
GL_RING int gl_peek_chunk(const gl_chunk *at, void *piece, uint32_t sequence)
{{
    uint32_t word[4];
    asm volatile("ld.volatile.v4.u32 {{%0, %1, %2, %3}}, [%4];"
                 : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3]) : "l"(at) : "memory");
    memcpy(piece, word, GL_PIECE);
    return word[3] == sequence;
}}
#else
#include <stdatomic.h>
#define GL_RING static inline
typedef struct {{
    uint32_t piece[3];
    _Atomic uint32_t sequence;
}} gl_chunk;

GL_RING void gl_push_chunk(gl_chunk *at, const void *piece, uint32_t bytes, uint32_t sequence)
{{
    memcpy(at->piece, piece, bytes);
    atomic_store_explicit(&at->sequence, sequence, memory_order_release);
}}

/* Whether the chunk is there; its piece is written only then. */
GL_RING int gl_peek_chunk(const gl_chunk *at, void *piece, uint32_t sequence)
{{
    if (atomic_load_explicit(&at->sequence, memory_order_acquire) != sequence)
        return 0;
    memcpy(piece, at->piece, GL_PIECE);
    return 1;
}}
#endif

/* Write the bytes of a message into chunks, in their order. */
GL_RING void gl_push(gl_chunk *at, const void *message, uint32_t bytes, uint32_t sequence)
{{
    const uint8_t *next = (const uint8_t *)message;
    for (; bytes >= GL_PIECE; bytes -= GL_PIECE, next += GL_PIECE, at++)
        gl_push_chunk(at, next, GL_PIECE, sequence);
    if (bytes)
        gl_push_chunk(at, next, bytes, sequence);
}}

/* Read chunks of a message to where its bytes lie; 0 if one of them is not there. */
GL_RING int gl_peek(const gl_chunk *at, void *message, uint32_t chunks, uint32_t sequence)
{{
    uint8_t *next = (uint8_t *)message;
    for (uint32_t n = 0; n < chunks; n++, next += GL_PIECE)
        if (!gl_peek_chunk(at + n, next, sequence))
            return 0;
    return 1;
}}
"""

SCALARS = {f"{kind}{bits}": f"{kind}{bits}_t" for kind in ("int", "uint") for bits in (16, 32, 64)}
PARAMETERS = {
    "slots": "uint8_t *", "ticket": "uint64_t ", "shift": "uint32_t ", "slot": "uint32_t ",
    "head": "uint64_t ", "tail": "uint64_t ",
}  # fmt: skip
RESULTS = {
    "index_of": "uint64_t", "sequence_of": "uint32_t", "place_of": "gl_chunk *",
    "free_of": "int64_t",
}  # fmt: skip
"""The types of the functions of layouts/ring.py in C."""
OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.BitAnd: "&", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip


def main() -> int:
    """Write the files, or compare them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = 0
    for name, made in (("layout.h", layout_text()), ("ring.h", ring_text())):
        path = ENGINE / name
        if not check:
            path.write_text(made)
            continue
        lines = path.read_text().splitlines(True), made.splitlines(True)
        difference = "".join(difflib.unified_diff(*lines, name, "made"))
        stale |= bool(difference)
        print(difference, end="")
    return stale


def layout_text() -> str:
    """engine/layout.h."""
    parts = [LAYOUT]
    for module, names in NUMBERS:
        for about, group in groupby(names.split(), _abouts(module).get):
            parts += [*_comment(about), *(_number(each, getattr(module, each)) for each in group)]
            parts.append("")
    parts += ["/* The state of an actor that has ended. */"]
    parts += [_number("TERMINATED", states.State.TERMINATED.value), ""]
    parts += ["/* Reasons of dead letters. */", *_reasons(), ""]
    for name, (layout, atomic) in STRUCTS.items():
        parts += [*_struct(name, layout, atomic.split()), ""]
    return "\n".join([*parts, "#endif", ""])


def _abouts(module: ModuleType) -> dict[str, str]:
    """The texts behind a module's constants."""
    texts: dict[str, str] = {}
    for node, behind in pairwise(ast.parse(inspect.getsource(module)).body):
        match node, behind:
            case ast.Assign(targets=[target]), ast.Expr(value=ast.Constant(value=str(text))):
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                texts |= {each.id: text for each in names if isinstance(each, ast.Name)}
            case _:
                pass
    return texts


def _comment(text: str | None) -> list[str]:
    plain = " ".join((text or "").replace("``", "`").split())
    return textwrap.wrap(f"/* {plain} */", WIDTH, subsequent_indent="   ") if plain else []


def _number(name: str, value: int) -> str:
    if value < 0:
        return f"#define GL_{name} ({value})"
    suffix = "ull" if value >> 32 else "u" if value >> 16 else ""
    return f"#define GL_{name} {f'{value:#x}' if suffix else value}{suffix}"


def _reasons() -> Iterator[str]:
    yield "enum {"
    yield "    GL_ALIVE,"
    for each in Reason:
        yield f"    GL_{each.name} = {int(each)}, /* {each.meaning} */"
    yield "    GL_REASONS,"
    yield "};"


def _struct(name: str, layout: Layout, atomic: list[str]) -> Iterator[str]:
    """A structure, and the assertion of its size."""
    yield f"/* {layout.meaning} */"
    yield "typedef struct {"
    for type_, fields in groupby(layout.fields, lambda each: _type(each, each.name in atomic)):
        names = ", ".join(f"{each.name}{_extents(each)}" for each in fields)
        yield from textwrap.wrap(
            f"{type_} {names};", WIDTH, initial_indent="    ", subsequent_indent="        "
        )
    yield f"}} {name};"
    yield f'_Static_assert(sizeof({name}) == {layout.size}, "{name}");'


def _type(field: Field, is_atomic: bool) -> str:
    element = field.type.element if isinstance(field.type, Array) else field.type
    if isinstance(element, Layout):
        return next(name for name, (layout, _) in STRUCTS.items() if layout is element)
    return f"{'_Atomic ' if is_atomic else ''}{SCALARS[element.name]}"


def _extents(field: Field) -> str:
    shape = field.type.shape if isinstance(field.type, Array) else ()
    return "".join(f"[{extent}]" for extent in shape)


def ring_text() -> str:
    """engine/ring.h."""
    functions = ast.parse(inspect.getsource(ring)).body
    made = [_function(each) for each in functions if isinstance(each, ast.FunctionDef)]
    return "\n".join([RING, *made, "#endif", ""])


def _function(function: ast.FunctionDef) -> str:
    """A function of the dialect, whose body is one expression, in C."""
    about, (result,) = ast.get_docstring(function), function.body[1:]
    assert about is not None and isinstance(result, ast.Return) and result.value is not None
    parameters = ", ".join(f"{PARAMETERS[each.arg]}{each.arg}" for each in function.args.args)
    kind, value = RESULTS[function.name], _expression(result.value)
    value = f"({kind})({value})" if kind.endswith("*") else value
    kind += "" if kind.endswith("*") else " "
    note = "\n".join(_comment(about))
    return f"{note}\nGL_RING {kind}gl_{function.name}({parameters})\n{{\n    return {value};\n}}\n"


def _expression(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Constant(value=int(value)):
            return str(value)
        case ast.BinOp(left=left, op=op, right=right):
            return f"{_operand(left)} {OPERATORS[type(op)]} {_operand(right)}"
        case ast.Call(func=ast.Name(id=name), args=[value]) if name in SCALARS:
            return f"({SCALARS[name]}){_operand(value)}"
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in RESULTS:
            return f"gl_{name}({', '.join(map(_expression, arguments))})"
        case _:
            raise ValueError(f"layouts/ring.py: C has no {ast.unparse(node)}")


def _operand(node: ast.expr) -> str:
    text = _expression(node)
    return f"({text})" if isinstance(node, ast.BinOp) else text


if __name__ == "__main__":
    sys.exit(main())
