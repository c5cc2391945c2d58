"""What `gridlane export --web` writes, in a browser: the runtime's arguments, memory, launches and
errors. Results are those of the device `cpu`, which runs the same kernels."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.browser import exported
from tests.browser.chromium import Chromium, PageError
from tests.browser.served import Site
from tests.devices import bits

KERNELS = {name for name, value in vars(exported).items() if hasattr(value, "py_func")}
BLOCKS = ("scale=8,8", "64", "count_blocks=1")
ARRAYS = {
    **{"int8": "Int8Array", "int16": "Int16Array", "int32": "Int32Array"},
    **{"uint8": "Uint8Array", "uint16": "Uint16Array", "uint32": "Uint32Array"},
    **{"int64": "BigInt64Array", "uint64": "BigUint64Array"},
    **{"float32": "Float32Array", "float64": "Float64Array", "bfloat16": "Uint16Array"},
    "float16": "(globalThis.Float16Array ?? Uint16Array)",
}


@pytest.fixture(scope="module")
def page(browser: Chromium, tmp_path_factory) -> Iterator[Chromium]:
    """A browser with the kernels of exported.py as ``gl``, and what they printed as ``lines``."""
    folder = tmp_path_factory.mktemp("page")
    source = Path(exported.__file__)
    options = [word for block in BLOCKS for word in ("--block", block)]
    command = [sys.executable, "-m", "gridlane", "export", "--web", str(source), *options]
    done = subprocess.run([*command, "-o", str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    site = Site(folder)
    browser.go(site.url)
    browser.wait_for("document.body.dataset.ready")
    browser.run(
        """(async () => {
            globalThis.gridlane = await import("./gridlane.js");
            globalThis.lines = [];
            const print = (line) => lines.push(line);
            globalThis.gl = await gridlane.load("./manifest.json", { print });
        })()"""
    )
    yield browser
    site.close()


def run(page: Chromium, body: str, **values) -> object:
    """What the body of an async function returns; ``values`` are JSON, integers of 64 bits text."""
    given = ", ".join(map(json.dumps, values.values()))
    return page.run(f"(async ({', '.join(values)}) => {{{body}}})({given})")


def text_of(error: pytest.ExceptionInfo) -> str:
    return str(error.value).partition("\n    at ")[0]


# ---- arguments


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_two_axes(page: Chromium, order: str) -> None:
    values = np.arange(15 * 21, dtype=np.float32).reshape(15, 21) / 7
    wanted = np.zeros_like(values)
    exported.scale[(3, 2), (8, 8)](np.array(values, order=order), wanted, np.float32(1.1))
    got = run(
        page,
        """const a = gl.array(new Float32Array(values), { shape: [15, 21], order });
           const out = gl.zeros("float32", [15, 21]);
           gl.kernels.scale.launch({ grid: [3, 2], block: [8, 8] }, a, out, 1.1);
           return [...await out.read()];""",
        values=values.ravel(order).tolist(),
        order=order,
    )
    assert np.array_equal(np.array(got, np.float32).reshape(15, 21), wanted)


def test_every_type_is_here() -> None:
    assert set(ARRAYS) == {scalar.name for scalar in exported.NUMBERS}


@pytest.mark.parametrize("name", ARRAYS)
def test_every_type_of_number(page: Chromium, name: str) -> None:
    """In arrays, of an odd length, and as an argument; the bits are those of the CPU."""
    scalar = next(each for each in exported.NUMBERS if each.name == name)
    whole = scalar.dtype.is_integer
    if whole:
        least, most = scalar.dtype.min, scalar.dtype.max
        values, more = np.array([0, 1, most, least, most // 3], scalar.numpy), int(most // 2 + 5)
    else:
        values, more = np.array([0.0, -1.5, 3.1415926, 1e3, 0.1, 7e-3, -2e4]), 0.3
        values = values.astype(scalar.numpy)
    wanted = np.zeros_like(values)
    getattr(exported, f"add_{name}")[1, 64](values, wanted, scalar.numpy.type(more))
    got = run(
        page,
        f"""const raw = Uint8Array.from(octets).buffer;
           const a = gl.array(new {ARRAYS[name]}(raw), {{ dtype: "{name}" }});
           const out = gl.zeros("{name}", a.size);
           const number = {"BigInt(more)" if whole else "more"};
           gl.kernels.add_{name}.launch({{ grid: 1 }}, a, out, number);
           const found = await out.read();
           return [found.constructor === {ARRAYS[name]}, ...new Uint8Array(found.buffer)];""",
        octets=list(values.tobytes()),
        more=str(more) if whole else more,
    )
    assert got[0] is True
    result = np.array(got[1:], np.uint8).view(values.dtype)
    assert bits(result).tolist() == bits(wanted).tolist()


def test_scalars_are_rounded_as_numpy_rounds(page: Chromium) -> None:
    """float16 and bfloat16 arguments: ties, subnormal, largest and infinite ones."""
    values = [1 + 2**-11, 1 + 3 * 2**-11, 2**-25, 3 * 2**-26, 65519.9, 65520.0, -(2.0**-14), 6e-5]
    for name in ("float16", "bfloat16"):
        scalar = next(each for each in exported.NUMBERS if each.name == name)
        with np.errstate(over="ignore"):
            wanted = np.array(values, np.float32).astype(scalar.numpy).view(np.uint16).tolist()
        got = run(
            page,
            f"""const {{ SCALARS }} = await import("./values.js");
               const view = new DataView(new ArrayBuffer(2));
               return values.map((x) => {{
                 SCALARS.{name}.put(view, 0, Math.fround(x));
                 return view.getUint16(0, true);
               }});""",
            values=values,
        )
        assert got == wanted


def test_bools(page: Chromium) -> None:
    body = """const a = gl.array(Uint8Array.of(1, 0, 1, 0, 0), { dtype: "bool" });
              const out = gl.zeros("bool", 5);
              gl.kernels.invert.launch({ grid: [1] }, a, out, true);
              return [...await out.read()];"""
    assert run(page, body) == [0, 1, 0, 1, 1]


def test_complex_numbers(page: Chromium) -> None:
    body = """const z = gl.array(Float32Array.of(1, 0, 0, 1, 3, -4), { dtype: "complex64" });
              gl.kernels.rotate.launch({ grid: [1] }, z, [0, 2]);
              return [z.size, ...await z.read()];"""
    assert run(page, body) == [3, 0, 2, -2, 0, 8, 6]


def test_tuples_and_none(page: Chromium) -> None:
    body = """const a = gl.zeros("int32", 3);
              gl.kernels.nested.launch({ grid: [1] }, [a, [-2, 5n << 40n]], null);
              return [...await a.read()];"""
    assert run(page, body) == [3, 3, 3]


def test_records(page: Chromium) -> None:
    points = np.array([(1, 2.5, -3.0), (-5, 0.25, 8.0)], exported.POINT.numpy)
    wanted = points.copy()
    exported.mirror[1, 64](wanted)
    body = """const dtype = `record of ${size} bytes`;
              const a = gl.array(Uint8Array.from(octets), { dtype });
              gl.kernels.mirror.launch({ grid: [1] }, a);
              return [a.size, ...await a.read()];"""
    got = run(page, body, octets=list(points.tobytes()), size=points.itemsize)
    assert got == [2, *wanted.tobytes()]


def test_typed_arrays_are_copied_there_and_back(page: Chromium) -> None:
    body = """const values = Int32Array.from({ length: 64 }, (_, n) => n * n);
              await gl.kernels.warp_sums.run({ grid: 1 }, values);
              return [...values];"""
    values = np.arange(64, dtype=np.int32) ** 2
    exported.warp_sums[1, 64](values)
    assert run(page, body) == values.tolist()


WRONG = {
    "gl.kernels.reverse.launch({ grid: 1 }, i)": "reverse(values, out) takes 2 arguments, not 1",
    "gl.kernels.reverse.launch({ grid: 1 }, i, f)": (
        "reverse(values, out), argument out: takes an array of int32, not of float32"
    ),
    "gl.kernels.reverse.launch({ grid: 1 }, i, new Int32Array(3))": (
        "argument out: takes an array of int32, made by gl.array or gl.zeros, not a Int32Array"
    ),
    "gl.kernels.picky.launch({ grid: 1 }, i, 2 ** 31)": (
        "argument limit: 2147483648 does not fit into 32 bits; it is of type int32"
    ),
    "gl.kernels.picky.launch({ grid: 1 }, i, 1.5)": "1.5 is no safe integer",
    "gl.kernels.picky.launch({ grid: 1 }, i, '7')": '"7" is no integer',
    "gl.kernels.scale.launch({ grid: 1 }, f, f, 1)": "takes an array of 2 axes, not of 1",
    "gl.kernels.scale.launch({ grid: 1 }, ff, gl.zeros('float32', [2, 2], { order: 'F' }), 1)": (
        "argument out: takes an array in order C, not F"
    ),
    "gl.kernels.scale.launch({ grid: 1 }, ff, ff, 1n)": "1 is no number; it is of type float32",
    "gl.kernels.nested.launch({ grid: 1 }, [i, [1]], null)": "item 1: takes a list of 2",
    "gl.kernels.nested.launch({ grid: 1 }, [i, [1, 2]], 0)": "argument nothing: takes null",
    "gl.kernels.invert.launch({ grid: 1 }, b, b, 1)": "1 is no boolean",
    "gl.kernels.picky.launch({ grid: 0 }, i, 1)": "picky, grid [0]: one to three numbers from 1 on",
    "gl.kernels.picky.launch({}, i, 1)": "picky, grid []: one to three numbers from 1 on",
    "gl.kernels.picky.launch({ grid: 1, block: 32 }, i, 1)": (
        "picky was exported for blocks of (64, 1, 1), not (32); export it with --block"
    ),
    "gl.kernels.reverse.launch({ grid: 1, shared: 1 << 20 }, i, i)": (
        "reverse: 1048576 bytes of shared memory; this device has 32768"
    ),
    "gl.zeros('float33', 3)": 'there is no type "float33"',
    "gl.zeros('float32', [2, -1])": "shape 2,-1: -1",
    "gl.array([1, 2])": "Array is no typed array",
    "gl.array(new Float32Array(5), { shape: [2, 3] })": (
        "an array of shape (2, 3) takes 6 values, not 5"
    ),
    "i.write(new Float32Array(64))": "an array of int32 takes a Int32Array, not a Float32Array",
    "gl.zeros('float32', 2 ** 31)": "all arrays share one buffer, which has 1073741824 bytes at",
    "freed.read()": "the array was freed",
    "gl.kernels.picky.launch({ grid: 1 }, freed, 1)": "argument values: the array was freed",
}


@pytest.mark.parametrize("call", WRONG)
def test_wrong_calls_are_refused_in_words(page: Chromium, call: str) -> None:
    with pytest.raises(PageError) as error:
        run(
            page,
            f"""const i = gl.zeros("int32", 64), f = gl.zeros("float32", 8);
               const ff = gl.zeros("float32", [2, 2]), b = gl.zeros("bool", 4);
               const freed = gl.zeros("int32", 4);
               freed.free();
               await {call};""",
        )
    assert WRONG[call] in text_of(error)


# ---- launches


def test_dynamic_shared_memory(page: Chromium) -> None:
    body = """const a = gl.array(Int32Array.from({ length: 64 }, (_, n) => n));
              const out = gl.zeros("int32", 64);
              gl.kernels.reverse.launch({ grid: 1, shared: 256 }, a, out);
              return [...await out.read()];"""
    assert run(page, body) == list(range(63, -1, -1))


@pytest.mark.parametrize("number", [5, -(1 << 30), (1 << 30) + 1, -(1 << 40), 1 << 62])
def test_integers_beyond_those_of_compact_code(page: Chromium, number: int) -> None:
    made = run(
        page,
        """const out = gl.zeros("int32", [2, 3]);
        gl.kernels.thirds.launch({ grid: [1, 3] }, out, BigInt(number));
        return [...await out.read()];""",
        number=str(number),
    )
    assert made == [(number + x) // 3 % 1000 for x in (0, 1, 2)] * 2


def test_which_launches_are_compact(page: Chromium) -> None:
    """Each bound is reached, and then exceeded."""
    made = run(
        page,
        """const { isCompact } = await import("./arguments.js");
        const paths = [["shape", 0], ["shape", 1], ["strides", 0], ["strides", 1]];
        const dtype = "int64";
        const slots = paths.map((path, n) => ({ argument: 0, path, offset: 8 * n, dtype }));
        slots.push({ argument: 1, path: [], offset: 32, dtype });
        const asked = (numbers, blocks, block = [64, 1, 1]) => {
            const params = new Uint8Array(new BigInt64Array(numbers.map(BigInt)).buffer);
            return isCompact({ block, slots }, params, blocks);
        };
        const most = 2 ** 30, few = [1, 1, 1, 1, 0];
        return [
            asked([2, 2, most / 2, -most / 2, most], [1, 1, 1]),
            asked([2, 2, most / 2, -most / 2 - 1, most], [1, 1, 1]),
            asked([0, 2, most, 4, 0], [1, 1, 1]),
            asked([1, 2, most + 4, 4, 0], [1, 1, 1]),
            asked([1, 1, 4, 4, -most], [1, 1, 1]),
            asked([1, 1, 4, 4, -most - 1], [1, 1, 1]),
            asked(few, [2 ** 21, 2 ** 21, 1]), asked(few, [1, 2 ** 21 + 1, 1]),
            asked(few, [2 ** 20, 1, 1], [1024, 1, 1]),
            asked(few, [2 ** 20 + 1, 1, 1], [1024, 1, 1]),
        ];""",
    )
    assert made == [True, False, False, False, True, False, True, False, True, False]


def test_a_grid_larger_than_a_dispatch(page: Chromium) -> None:
    body = """const counter = gl.zeros("int32", 3);
              gl.kernels.count_blocks.launch({ grid: 70000 }, counter);
              return [...await counter.read()];"""
    assert run(page, body) == [70000, 69999, 70000]


def test_long_loops(page: Chromium) -> None:
    body = """const out = gl.zeros("int32", 64);
              gl.kernels.rounds.launch({ grid: 1 }, out, 700);
              return [...await out.read()];"""
    assert run(page, body) == [490000] * 64


def test_launches_are_in_order(page: Chromium) -> None:
    body = """const a = gl.zeros("int32", 64);
              for (let n = 0; n < 50; n += 1) gl.kernels.picky.launch({ grid: 1 }, a, 100);
              const before = await a.read();
              a.write(new Int32Array(64).fill(7));
              gl.kernels.picky.launch({ grid: 1 }, a, 100);
              return [before[63], (await a.read())[63]];"""
    assert run(page, body) == [50, 8]


def test_the_heap_grows_and_is_used_again(page: Chromium) -> None:
    body = """const first = gl.array(Int32Array.of(1, 2, 3)), size = gl.heap.size;
              const large = gl.zeros("int32", size / 4 + 5);
              const grown = gl.heap.size;
              gl.kernels.picky.launch({ grid: 1 }, large, 100);
              const added = (await large.read())[63];
              large.free();
              const again = gl.zeros("uint8", size + 20);
              const zeros = (await again.read()).every((value) => value === 0);
              again.free();
              return [grown > size, gl.heap.size === grown, added, zeros, ...await first.read()];"""
    assert run(page, body) == [True, True, 1, True, 1, 2, 3]


def test_pieces_of_the_heap_are_joined(page: Chromium) -> None:
    """In whatever order they come back, and none is given twice."""
    body = """const { Heap } = await import("./memory.js");
              const heap = new Heap(gl.device, () => {}), whole = JSON.stringify(heap.free);
              const sizes = [100, 300, 600, 900];
              const all = sizes.map((size) => heap.allocate(size));
              heap.release(all[2]);
              heap.release(all[0]);
              const between = heap.allocate(500);
              for (const start of [all[3], between, all[1]]) heap.release(start);
              return [...all, between, heap.live.size, JSON.stringify(heap.free) === whole];"""
    assert run(page, body) == [256, 512, 1024, 1792, 1024, 0, True]


# ---- what kernels tell


def test_what_a_kernel_raises(page: Chromium) -> None:
    body = """const a = gl.array(Int32Array.from({ length: 128 }, (_, n) => n));
              gl.kernels.picky.launch({ grid: 2 }, a, 126);
              try { await a.read(); } catch (error) {
                const { name, exception, text, thread, block, file } = error;
                gl.kernels.picky.launch({ grid: 2 }, a, 1000);
                const then = (await a.read())[1];
                return [name, exception, text, thread, block, file, error.message, then];
              }"""
    *rest, message, then = run(page, body)
    assert rest == ["KernelError", "ValueError", "too large", [63, 0, 0], [1, 0, 0], "exported.py"]
    line = next(
        n
        for n, text in enumerate(Path(exported.__file__).read_text().splitlines(), 1)
        if "too large" in text
    )
    told = "picky, thread 63,0,0 of block 1,0,0: ValueError: too large"
    assert message == f"{told} (exported.py, line {line})"
    assert then == 3


def test_an_index_out_of_bounds(page: Chromium) -> None:
    body = """const a = gl.zeros("int32", 66);
              gl.kernels.beyond.launch({ grid: 1 }, a);
              await gl.finish();"""
    with pytest.raises(PageError, match=r"beyond, thread 63,0,0 .*IndexError: .*exported.py"):
        run(page, body)


def test_printed_lines(page: Chromium) -> None:
    reals = [
        0.1,
        -2.5,
        1e-7,
        123456.5,
        3e38,
        0.0,
        float("nan"),
        -float("inf"),
        1e20,
        100.0,
        0.00025,
    ]
    whole = [0, -1, 2**62, *range(8)]
    body = """lines.length = 0;
              const a = gl.array(BigInt64Array.from(whole, BigInt));
              const b = gl.array(Float32Array.from(reals, Number));
              gl.kernels.tell.launch({ grid: 1 }, a, b);
              await gl.finish();
              return lines;"""
    names = [str(x) for x in reals]
    texts = [x.replace("inf", "Infinity") for x in names]
    got = run(page, body, whole=list(map(str, whole)), reals=texts)
    shown = ["0.1", "-2.5", "1e-07", "123456.5", "3e+38", "0.0", "nan", "-inf", "1e+20", "100.0"]
    shown.append("0.00025")
    wanted = [f"thread {n} {i} {x}" for n, (i, x) in enumerate(zip(whole, shown))]
    assert sorted(got, key=lambda line: int(line.split()[1])) == wanted


def test_many_lines(page: Chromium) -> None:
    """More than are kept between two looks; the next look has them all again."""
    body = """lines.length = 0;
              const a = gl.zeros("int64", 40000), b = gl.zeros("float32", 40000);
              gl.kernels.tell.launch({ grid: 625 }, a, b);
              await gl.finish();
              const first = lines.length;
              gl.kernels.tell.launch({ grid: 20 }, a, b);
              await gl.finish();
              return [first, lines.length - first];"""
    kept = (1 << 20) // 32
    assert run(page, body) == [kept, 1280]


def test_a_record_that_does_not_fit(page: Chromium) -> None:
    """Where records of another length were before."""
    body = """lines.length = 0;
              gl.kernels.tell_two.launch({ grid: 625 }, 1);
              await gl.finish();
              const first = lines.length;
              gl.kernels.tell_two.launch({ grid: 750 }, 0);
              await gl.finish();
              return [first, lines.length - first];"""
    assert run(page, body) == [(1 << 20) // 32, (1 << 20) // 24]


# ---- devices


def test_a_lost_device(page: Chromium) -> None:
    body = """const other = await gridlane.load("./manifest.json");
              const a = other.zeros("int32", 64);
              other.device.destroy();
              await other.device.lost;
              other.kernels.picky.launch({ grid: 1 }, a, 1);"""
    with pytest.raises(PageError, match="the browser took the GPU away: "):
        run(page, body)


def test_without_webgpu(page: Chromium) -> None:
    body = """Object.defineProperty(navigator, "gpu", { value: undefined, configurable: true });
              try { await gridlane.load("./manifest.json"); } finally { delete navigator.gpu; }"""
    with pytest.raises(PageError, match="this browser has no WebGPU"):
        run(page, body)


def test_an_array_of_another_device(page: Chromium) -> None:
    body = """const other = await gridlane.load("./manifest.json");
              gl.kernels.picky.launch({ grid: 1 }, other.zeros("int32", 64), 1);"""
    with pytest.raises(PageError, match="an array of another device"):
        run(page, body)


# ---- the page


def test_the_page_shows_the_kernels(page: Chromium) -> None:
    assert run(page, 'return document.getElementById("status").textContent') == "google swiftshader"
    shown = run(page, 'return [...document.querySelectorAll("h2")].map((each) => each.textContent)')
    assert set(shown) == KERNELS and len(shown) == len(KERNELS)
    notes = run(page, 'return document.querySelector("#add_float64 .note").textContent')
    assert "blocks of 64, 1, 1 threads" in notes and "float64 is computed by integers" in notes


def test_the_page_runs_a_kernel(page: Chromium) -> None:
    body = "document.querySelector(`#${name} button`).click();"
    run(page, body, name="add_int32")
    page.wait_for("!document.querySelector('#add_int32 pre').hidden")
    shown = run(page, "return document.querySelector('#add_int32').textContent")
    assert "out = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, …" in shown
    run(page, body, name="picky")
    page.wait_for("!document.querySelector('#picky pre').hidden")
    shown = run(page, "return document.querySelector('#picky pre').textContent")
    assert "ValueError: too large" in shown
