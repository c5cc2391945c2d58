"""Pictures for a browser: the Mandelbrot set, and two galaxies that pull at each other.

    gridlane export --web examples/web/kernels.py --page examples/web/page.html \
        --block mandelbrot=16,16 --block expose=16,16 -o build/web
    python -m http.server -d build/web          # and http://localhost:8000 in a browser

draws them there. `gridlane run examples/web/kernels.py` draws the same with numpy's arrays.
Pixels are uint32 (height, width), red in the lowest byte, as a canvas has them on every machine.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from numba import cuda, float32, int32, uint32

TILE = 256
SOFTENING = 2e-3  # keeps the force finite when two bodies meet
CORE = 0.75  # the share of a galaxy's mass in its core


@cuda.jit(device=True)
def pixel(red, green, blue):
    """A colour of parts from 0 to 1; what is more is cut off."""
    r = uint32(float32(255.0) * min(red, float32(1.0)))
    g = uint32(float32(255.0) * min(green, float32(1.0)))
    b = uint32(float32(255.0) * min(blue, float32(1.0)))
    return uint32(0xFF000000) | (b << uint32(16)) | (g << uint32(8)) | r


@cuda.jit(device=True)
def wave(phase):
    return float32(0.5) - float32(0.5) * math.cos(phase)


@cuda.jit("void(uint32[:, ::1], float32, float32, float32, int32)", fastmath=True)
def mandelbrot(pixels, left, top, step, limit):
    """The set in black, the rest by how soon it escapes. ``step`` is from one pixel to the next."""
    x, y = cuda.grid(2)
    if x >= pixels.shape[1] or y >= pixels.shape[0]:
        return
    cr = left + step * float32(x)
    ci = top + step * float32(y)
    zr = float32(0.0)
    zi = float32(0.0)
    rounds = int32(0)
    while rounds < limit and zr * zr + zi * zi <= float32(64.0):
        zr, zi = zr * zr - zi * zi + cr, float32(2.0) * zr * zi + ci
        rounds += int32(1)
    if rounds == limit:
        pixels[y, x] = uint32(0xFF000000)
        return
    # The fraction of a round that is left makes the colours flow.
    size = math.log(zr * zr + zi * zi)
    smooth = float32(rounds) + float32(1.0) - math.log2(size / math.log(float32(64.0)))
    phase = float32(0.8) * math.sqrt(max(smooth, float32(0.0))) - float32(0.9)
    red = wave(phase)
    green = wave(float32(1.2) * phase + float32(0.25))
    pixels[y, x] = pixel(red, green, wave(float32(1.4) * phase + float32(0.8)))


@cuda.jit(device=True)
def chance(number, which):
    """A number from 0 to 1 that looks random; another one for each pair of numbers."""
    bits = uint32(uint32(number) * uint32(747796405) + uint32(which) * uint32(2891336453))
    bits = uint32((bits ^ (bits >> uint32(16))) * uint32(2246822519))
    bits = uint32((bits ^ (bits >> uint32(13))) * uint32(3266489917))
    return float32(uint32((bits ^ (bits >> uint32(16))) >> uint32(8))) / float32(16777216.0)


@cuda.jit("void(float32[:, ::1], float32[:, ::1])", fastmath=True)
def scatter(bodies, velocities):
    """Two discs that spin, and pass each other. bodies: (n, 4), x y z mass; velocities: (n, 3)."""
    i = cuda.grid(1)
    n = bodies.shape[0]
    if i >= n:
        return
    side = float32(1.0) if i % 3 else float32(-1.0)
    share = float32(2.0 / 3.0) if i % 3 else float32(1.0 / 3.0)
    # The first two are the cores, which have most of the mass and hold the discs together.
    core = i < 2
    extent = float32(0.8) * math.sqrt(share)
    spread = float32(0.15) + float32(0.85) * math.sqrt(chance(i, 1))
    radius = float32(0.0) if core else extent * spread
    angle = float32(2.0 * math.pi) * chance(i, 2)
    x = radius * math.cos(angle)
    y = radius * math.sin(angle)
    z = float32(0.06) * (chance(i, 3) - float32(0.5))
    inside = share * (float32(CORE) + float32(1.0 - CORE) * spread * spread)
    near = radius * radius + float32(SOFTENING)
    # On a circle the speed balances the mass inside it.
    speed = radius * math.sqrt(inside / (near * math.sqrt(near)))
    vx = -math.sin(angle) * speed
    vy = math.cos(angle) * speed
    tilt = float32(0.5) * side
    bodies[i, 0] = x + float32(0.75) * side
    bodies[i, 1] = y * math.cos(tilt) - z * math.sin(tilt) + float32(0.35) * side
    bodies[i, 2] = y * math.sin(tilt) + z * math.cos(tilt)
    bodies[i, 3] = float32(CORE) * share if core else float32(1.0 - CORE) / float32(n)
    velocities[i, 0] = vx - float32(0.45) * side * (float32(1.0) - share)
    velocities[i, 1] = vy * math.cos(tilt)
    velocities[i, 2] = vy * math.sin(tilt)


@cuda.jit("void(float32[:, ::1], float32[:, ::1], float32)", fastmath=True)
def pull(bodies, velocities, dt):
    """Every body pulls at every other, a tile of them at a time from shared memory."""
    tile = cuda.shared.array((TILE, 4), float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    n = bodies.shape[0]
    own = min(i, n - 1)
    x = bodies[own, 0]
    y = bodies[own, 1]
    z = bodies[own, 2]
    ax = float32(0.0)
    ay = float32(0.0)
    az = float32(0.0)
    for start in range(0, n, TILE):
        j = start + t
        for column in range(4):
            # A body past the end has no mass, so it pulls at nothing.
            tile[t, column] = bodies[j, column] if j < n else float32(0.0)
        cuda.syncthreads()
        for k in range(TILE):
            dx = tile[k, 0] - x
            dy = tile[k, 1] - y
            dz = tile[k, 2] - z
            near = dx * dx + dy * dy + dz * dz + float32(SOFTENING)
            force = tile[k, 3] / (near * math.sqrt(near))
            ax += dx * force
            ay += dy * force
            az += dz * force
        cuda.syncthreads()
    if i < n:
        velocities[i, 0] += ax * dt
        velocities[i, 1] += ay * dt
        velocities[i, 2] += az * dt


@cuda.jit("void(float32[:, ::1], float32[:, ::1], float32)", fastmath=True)
def move(bodies, velocities, dt):
    i = cuda.grid(1)
    if i < bodies.shape[0]:
        for axis in range(3):
            bodies[i, axis] += velocities[i, axis] * dt


@cuda.jit("void(uint32[:, :, ::1], float32[:, ::1], float32[:, ::1], float32)", fastmath=True)
def shine(light, bodies, velocities, angle):
    """Adds the light of each body, seen from an angle. light: (height, width, 3), in 1/256; fast
    bodies are blue."""
    i = cuda.grid(1)
    if i >= bodies.shape[0]:
        return
    vx = velocities[i, 0]
    vy = velocities[i, 1]
    vz = velocities[i, 2]
    fast = min(math.sqrt(vx * vx + vy * vy + vz * vz) / float32(1.6), float32(1.0))
    x = bodies[i, 0] * math.cos(angle) + bodies[i, 2] * math.sin(angle)
    height = light.shape[0]
    scale = float32(height) * float32(0.42)
    px = int32(math.floor(x * scale + float32(light.shape[1]) * float32(0.5)))
    py = int32(math.floor(bodies[i, 1] * scale + float32(height) * float32(0.5)))
    for sy in range(-1, 2):
        for sx in range(-1, 2):
            u = px + int32(sx)
            v = py + int32(sy)
            if u < 0 or v < 0 or u >= light.shape[1] or v >= height:
                continue
            glow = float32(200.0) / float32(1 + 3 * (sx * sx + sy * sy))
            cuda.atomic.add(light, (v, u, 0), uint32(glow * (float32(1.0) - float32(0.7) * fast)))
            cuda.atomic.add(light, (v, u, 1), uint32(glow * float32(0.6)))
            cuda.atomic.add(light, (v, u, 2), uint32(glow * (float32(0.3) + float32(0.7) * fast)))


@cuda.jit("void(uint32[:, ::1], uint32[:, :, ::1])", fastmath=True)
def expose(pixels, light):
    """Pixels of the light so far, which fades: the next picture has a trail of this one."""
    x, y = cuda.grid(2)
    if x >= pixels.shape[1] or y >= pixels.shape[0]:
        return
    red = float32(1.0) - math.exp(float32(light[y, x, 0]) * float32(-1 / 400))
    green = float32(1.0) - math.exp(float32(light[y, x, 1]) * float32(-1 / 400))
    blue = float32(1.0) - math.exp(float32(light[y, x, 2]) * float32(-1 / 400))
    pixels[y, x] = pixel(red, green, blue)
    for channel in range(3):
        light[y, x, channel] = light[y, x, channel] * uint32(3) // uint32(4)


def picture_of_mandelbrot(width: int, height: int, limit: int) -> np.ndarray:
    pixels = np.zeros((height, width), np.uint32)
    step = np.float32(3.2 / width)
    corner = np.float32(-2.3), np.float32(-step * height / 2)
    grid = (-(-width // 16), -(-height // 16))
    mandelbrot[grid, (16, 16)](pixels, *corner, step, np.int32(limit))
    return pixels


def picture_of_galaxies(width: int, height: int, count: int, steps: int) -> np.ndarray:
    bodies, velocities = cuda.device_array((count, 4), "f4"), cuda.device_array((count, 3), "f4")
    light = cuda.to_device(np.zeros((height, width, 3), np.uint32))
    pixels = np.zeros((height, width), np.uint32)
    blocks, dt = -(-count // TILE), np.float32(0.01)
    grid = (-(-width // 16), -(-height // 16))
    scatter[blocks, TILE](bodies, velocities)
    for step in range(steps):
        pull[blocks, TILE](bodies, velocities, dt)
        move[blocks, TILE](bodies, velocities, dt)
        shine[blocks, TILE](light, bodies, velocities, np.float32(0.004 * step))
        expose[grid, (16, 16)](pixels, light)
    return pixels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--width", type=int, default=640)
    parser.add_argument("--height", type=int, default=400)
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--bodies", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--save", help="an .npz file for both pictures")
    args = parser.parse_args()
    size = args.width, args.height
    pictures = {
        "mandelbrot": picture_of_mandelbrot(*size, args.iterations),
        "galaxies": picture_of_galaxies(*size, args.bodies, args.steps),
    }
    for name, pixels in pictures.items():
        print(f"{name}: {args.width}x{args.height}, {len(np.unique(pixels))} colours")
    if args.save:
        np.savez(args.save, **pictures)


if __name__ == "__main__":
    main()
