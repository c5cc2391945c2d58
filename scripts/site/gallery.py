"""Draw the pictures of docs/gallery.md with examples/, time each, and write the page.

    python scripts/site/gallery.py

The times are that of the kernel, as the example prints it, and that of the whole command, each the
least of eight runs, the first of which fills the cache of compiled kernels.
"""

from __future__ import annotations

import ast
import datetime
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.timing import machine

PICTURES = ROOT / "docs" / "pictures" / "gallery"
WIDTH = 480
COLOURS = 128
RUNS = 8

HEAD = """# Gallery

This page shows programs of [examples](../examples) with their commands. Each example compares its
result with numpy's, so every picture was checked. `--device` selects another device.

`scripts/site/gallery.py` draws the pictures and measures the times, on {date}: {machine},
shared with other work, device `cpu`. *kernel* is the time that the example prints. *command* is the
time of the whole command, with the check by numpy and the kernels in the disk cache. Each is the
least of eight runs.
"""


@dataclass(frozen=True, slots=True)
class Drawing:
    title: str
    name: str
    arguments: str
    alt: str


DRAWINGS = (
    Drawing(
        "A ray tracer",
        "raytracer",
        "--width 480 --height 300 --samples 8",
        "Mirroring spheres on a checkered plane",
    ),
    Drawing(
        "Gravity", "nbody", "--bodies 8192 --steps 60", "Bodies of a galaxy as points of light"
    ),
    Drawing(
        "The Mandelbrot set",
        "mandelbrot",
        "--width 480 --height 320",
        "The Mandelbrot set in colours",
    ),
    Drawing("Waves", "wave3d", "--size 64", "Waves in a room, cut through the middle"),
    Drawing(
        "The Game of Life",
        "game_of_life",
        "--width 480 --height 320 --generations 300",
        "Cells of the Game of Life",
    ),
    Drawing(
        "Heat",
        "laplace2d",
        "--size 320 --sweeps 4000",
        "Heat that spreads from the edges of a plate",
    ),
)


def main() -> None:
    parts = [HEAD.format(date=datetime.date.today(), machine=machine())]
    for drawing in DRAWINGS:
        print(drawing.name, flush=True)
        parts.append(section(drawing))
    parts.append(
        "## On a web page\n\n![Two galaxies in a browser](web.png)\n\n"
        "[examples/web](../examples/web) animates two galaxies in a browser, by WebGPU; "
        "[kernels on web pages](web.md) says how.\n"
    )
    (ROOT / "docs" / "gallery.md").write_text("\n".join(parts))


def section(drawing: Drawing) -> str:
    """Draw one, and return its part of the page."""
    first = (ast.get_docstring(ast.parse(source(drawing))) or "").split("\n\n")[0]
    file = f"{drawing.name.replace('_', '-')}.png"
    command = f"gridlane run examples/{drawing.name}.py {drawing.arguments} --out {file}"
    kernel, seconds = timed(drawing, file)
    return "\n\n".join(
        (
            f"## {drawing.title}",
            " ".join(first.split()),
            f"![{drawing.alt}](pictures/gallery/{file})",
            "<!-- needs minutes -->",
            f"    {command}",
            f"kernel {kernel}, command {seconds:.1f} s; [source](../examples/{drawing.name}.py)\n",
        )
    )


def source(drawing: Drawing) -> str:
    return (ROOT / "examples" / f"{drawing.name}.py").read_text()


def timed(drawing: Drawing, file: str) -> tuple[str, float]:
    """The least time that the example printed, with its unit, and the least seconds of a run."""
    seconds: list[float] = []
    kernel: dict[float, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / file
        words = [sys.executable, "-m", "gridlane", "run", "--device", "cpu"]
        words += [f"examples/{drawing.name}.py", *drawing.arguments.split(), "--out", str(out)]
        for _ in range(RUNS):
            start = time.perf_counter()
            done = subprocess.run(words, cwd=ROOT, text=True, capture_output=True, check=True)
            seconds.append(time.perf_counter() - start)
            printed = re.search(r"([\d.]+) ms(?: a step)?$", done.stdout.strip())
            if printed is None:
                raise SystemExit(f"{drawing.name} prints no time: {done.stdout}")
            kernel[float(printed[1])] = printed[0]
        small(out, PICTURES / file)
    return kernel[min(kernel)], min(seconds)


def small(drawn: Path, target: Path) -> None:
    """Save a picture at most WIDTH wide with a palette, which a page of many loads quickly."""
    picture = Image.open(drawn)
    if picture.width * 4 <= WIDTH:
        picture = picture.resize((picture.width * 4, picture.height * 4), Image.Resampling.NEAREST)
    if picture.width > WIDTH:
        height = picture.height * WIDTH // picture.width
        picture = picture.resize((WIDTH, height), Image.Resampling.LANCZOS)
    if picture.mode == "RGB":
        picture = picture.quantize(COLOURS, dither=Image.Dither.NONE)
    target.parent.mkdir(exist_ok=True)
    picture.save(target, optimize=True)


if __name__ == "__main__":
    main()
