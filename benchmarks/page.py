"""How long a page takes to its first result, in headless Chromium without a GPU.

    python benchmarks/page.py [--browsers N]

``gridlane export --web`` exports a kernel whose division makes it float64, which no page has. Each
of N fresh browsers, with a profile of its own, opens the page, whose script loads the kernel,
launches it over a picture and reads the picture back. A time is from the start of the navigation to
the values in the script, on the page's clock; starting the browser is not in it. The values must be
those of numpy, in float64 and rounded once. Chromium's WebGPU is SwiftShader, on the processor.
The second row is the code for launches with integers beyond core/compact.py's bounds.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from timing import machine

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser import chromium  # noqa: E402  # tests/ is beside this folder
from tests.browser.chromium import Chromium  # noqa: E402
from tests.browser.served import Site  # noqa: E402

import results  # noqa: E402

HEIGHT, WIDTH = 480, 640
BLOCK = 16
BAR_S = 2.0
KERNEL = """import math
from gridlane import cuda
from gridlane.cuda import float32

@cuda.jit("void(float32[:, ::1])")
def shade(img):
    i, j = cuda.grid(2)
    if j < img.shape[0] and i < img.shape[1]:
        x = float32(i) / img.shape[1]
        y = x * 0.5 + 1.0
        img[j, i] = math.sqrt(y)
"""
PAGE = f"""<!doctype html>
<title>The first result</title>
<script type="module">
  import {{ load }} from "./gridlane.js";
  try {{
    const gl = await load("./manifest.json");
    const img = gl.zeros("float32", [{HEIGHT}, {WIDTH}]);
    const size = {{ grid: [{WIDTH // BLOCK}, {HEIGHT // BLOCK}], block: [{BLOCK}, {BLOCK}] }};
    gl.kernels.shade.launch(size, img);
    const values = await img.read();
    globalThis.result = {{ seconds: performance.now() / 1e3, values: [...values] }};
  }} catch (error) {{
    globalThis.result = {{ error: String(error) }};
  }}
</script>
"""


def export(folder: Path) -> None:
    """Write the page."""
    (folder / "shade.py").write_text(KERNEL)
    (folder / "page.html").write_text(PAGE)
    command = [sys.executable, "-m", "gridlane", "export", "--web", "shade.py"]
    options = ["--block", f"{BLOCK},{BLOCK}", "--page", "page.html", "-o", "site"]
    subprocess.run([*command, *options], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def expected() -> np.ndarray:
    """The picture: float32 divided by an integer is float64, as numpy has it."""
    x = np.arange(WIDTH, dtype=np.float64) / WIDTH
    return np.broadcast_to(np.sqrt(x * 0.5 + 1.0).astype(np.float32), (HEIGHT, WIDTH))


def first_result(url: str) -> float:
    """Seconds to the right values in a fresh browser.

    Raises:
        AssertionError: the page has an error, or the values are wrong.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Chromium(Path(folder))
        try:
            browser.go(url)
            browser.wait_for("globalThis.result !== undefined")
            found = browser.run("result")
        finally:
            browser.close()
    assert "error" not in found, found["error"]
    picture = np.array(found["values"], dtype=np.float32).reshape(HEIGHT, WIDTH)
    assert np.array_equal(picture, expected()), "the page's values are wrong"
    return found["seconds"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--browsers", type=int, default=7)
    results.option(parser)
    args = parser.parse_args()
    if chromium.found() is None:
        sys.exit("there is no chromium; Debian's package is chromium")
    with tempfile.TemporaryDirectory() as folder:
        export(Path(folder))
        site = Path(folder) / "site"
        rows = {"compact": measured(site, "compact", args.browsers)}
        forget_compact_code(site / "manifest.json")
        rows["any launch"] = measured(site, "wgsl", args.browsers)
    results.write("page", args.record)
    print(f"{datetime.date.today()}, {machine()}")
    print(f"first right result of a page, {args.browsers} fresh browsers, seconds")
    for name, row in rows.items():
        print(f"{name:<12}{row}")


def measured(site: Path, code: str, browsers: int) -> str:
    """The figures of a site whose kernel runs the code that its manifest has under ``code``."""
    kernel = json.loads((site / "manifest.json").read_text())["kernels"][0]
    kilobytes = (site / kernel[code]).stat().st_size / 1000
    served = Site(site)
    seconds = sorted(first_result(served.url) for _ in range(browsers))
    served.close()
    median = statistics.median(seconds)
    of = "any launch" if code == "wgsl" else code
    results.add("WGSL of the kernel", of, kilobytes, "kB")
    spread = {"median": median, "least": seconds[0], "most": seconds[-1]}
    for what, value in spread.items():
        results.add(f"first right result, {what}", of, value, "s")
    met = "met" if median <= BAR_S else "MISSED"
    shown = f"{median:.2f}, {seconds[0]:.2f} to {seconds[-1]:.2f}; bar {BAR_S:.0f}: {met}"
    return f"{kilobytes:>5.1f} kB of WGSL  {shown}"


def forget_compact_code(manifest: Path) -> None:
    """Make the page run the code for any launch, as launches do that are not compact."""
    whole = json.loads(manifest.read_text())
    for kernel in whole["kernels"]:
        kernel.pop("compact", None)
    manifest.write_text(json.dumps(whole))


if __name__ == "__main__":
    main()
