"""A ray tracer: spheres over a checkered plane, soft shadows, mirrors, antialiasing.

One thread a pixel. Vectors are tuples of three float32; each device function is a line or two of
geometry. Rays that hit different things, and bounce a different number of times, run side by side
in one warp, so this is also a test of divergence. A part of the picture is traced a second time
with numpy and compared.
"""

from __future__ import annotations

import argparse
import math
import sys

import numpy as np
from numba import cuda, float32, int32, uint32

import raytracer_scene as scene
from measure import milliseconds
from png import to_bytes, write_png

BLOCK = (16, 16)

FAR = np.float32(scene.FAR)
EPSILON = np.float32(scene.EPSILON)
SKY = -2  # what a ray hits: a sphere's number, or one of these two
GROUND = -1

SUN = tuple(np.float32(v) for v in scene.SUN)
SUN_COLOUR = tuple(np.float32(v) for v in scene.SUN_COLOUR)
HORIZON = tuple(np.float32(v) for v in scene.HORIZON)
ZENITH = tuple(np.float32(v) for v in scene.ZENITH)
TILE_LIGHT = tuple(np.float32(v) for v in scene.TILE_LIGHT)
TILE_DARK = tuple(np.float32(v) for v in scene.TILE_DARK)
SUN_RADIUS = np.float32(scene.SUN_RADIUS)
GROUND_MIRROR = np.float32(scene.GROUND_MIRROR)
FOG = np.float32(scene.FOG)


@cuda.jit(device=True)
def add(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@cuda.jit(device=True)
def subtract(a, b):
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@cuda.jit(device=True)
def multiply(a, b):
    return a[0] * b[0], a[1] * b[1], a[2] * b[2]


@cuda.jit(device=True)
def scale(a, factor):
    return a[0] * factor, a[1] * factor, a[2] * factor


@cuda.jit(device=True)
def mix(a, b, share):
    """`a` where share is 0, `b` where it is 1."""
    return add(a, scale(subtract(b, a), share))


@cuda.jit(device=True)
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@cuda.jit(device=True)
def normalize(a):
    return scale(a, float32(1.0) / math.sqrt(dot(a, a)))


@cuda.jit(device=True)
def row(table, k, column):
    """Three neighbouring columns of a table as a vector."""
    return table[k, column], table[k, column + 1], table[k, column + 2]


@cuda.jit(device=True)
def sphere_distance(origin, direction, spheres, k):
    """How far along the ray sphere k is hit from outside; FAR for a miss."""
    to_centre = subtract(row(spheres, k, 0), origin)
    along = dot(to_centre, direction)
    # The squared distance of the centre from the ray. Taken from the foot of the perpendicular:
    # along^2 - |to_centre|^2 would cancel in float32.
    aside = subtract(to_centre, scale(direction, along))
    left = spheres[k, 3] * spheres[k, 3] - dot(aside, aside)
    if left < float32(0.0):
        return FAR
    distance = along - math.sqrt(left)
    return distance if distance > EPSILON else FAR


@cuda.jit(device=True)
def nearest(origin, direction, spheres):
    """The distance to what the ray hits first, and what that is."""
    best = FAR
    which = int32(SKY)
    if direction[1] < float32(0.0):
        distance = -origin[1] / direction[1]
        if distance > EPSILON and distance < best:
            best = distance
            which = int32(GROUND)
    for k in range(spheres.shape[0]):
        distance = sphere_distance(origin, direction, spheres, k)
        if distance < best:
            best = distance
            which = int32(k)
    return best, which


@cuda.jit(device=True)
def in_shadow(origin, direction, spheres):
    """Whether any sphere lies in the way; the first one found will do."""
    for k in range(spheres.shape[0]):
        if sphere_distance(origin, direction, spheres, k) < FAR:
            return True
    return False


@cuda.jit(device=True)
def sky(direction):
    """Horizon to zenith, a glow round the sun, and the sun."""
    height = max(direction[1], float32(0.0))
    colour = mix(HORIZON, ZENITH, math.sqrt(height))
    glow = max(dot(direction, SUN), float32(0.0))
    for _ in range(4):
        glow *= glow  # ends as the cosine to the power of 16
    colour = add(colour, scale(SUN_COLOUR, float32(0.12) * glow))
    for _ in range(6):
        glow *= glow  # to the power of 1024
    return add(colour, scale(SUN_COLOUR, float32(1.5) * glow))


@cuda.jit(device=True)
def trace(origin, direction, light, spheres, bounces):
    """The light that comes back along a ray, float32 RGB without an upper limit."""
    colour = (float32(0.0), float32(0.0), float32(0.0))
    weight = (float32(1.0), float32(1.0), float32(1.0))
    for _ in range(bounces):
        distance, which = nearest(origin, direction, spheres)
        if which == SKY:
            return add(colour, multiply(weight, sky(direction)))

        point = add(origin, scale(direction, distance))
        haze = float32(0.0)
        if which == GROUND:
            normal = (float32(0.0), float32(1.0), float32(0.0))
            odd = (int32(math.floor(point[0])) + int32(math.floor(point[2]))) & 1
            albedo = TILE_DARK if odd else TILE_LIGHT
            tint = (float32(1.0), float32(1.0), float32(1.0))
            mirror = GROUND_MIRROR
            haze = float32(1.0) - math.exp(-FOG * distance)
        else:
            normal = scale(
                subtract(point, row(spheres, which, 0)), float32(1.0) / spheres[which, 3]
            )
            albedo = row(spheres, which, 4)
            mirror = spheres[which, 7]
            # A metal's reflection has the metal's colour, a glossy paint's has none.
            white = (float32(1.0), float32(1.0), float32(1.0))
            tint = mix(white, albedo, spheres[which, 8])

        facing = max(-dot(direction, normal), float32(0.0))
        rest = float32(1.0) - facing
        # Schlick (1994): surfaces reflect more at grazing angles.
        reflected = mirror + (float32(1.0) - mirror) * rest * rest * rest * rest * rest
        start = add(point, scale(normal, EPSILON))

        bounced = add(direction, scale(normal, float32(2.0) * facing))
        sunlight = dot(normal, light)
        highlight = float32(0.0)
        if sunlight <= float32(0.0) or in_shadow(start, light, spheres):
            sunlight = float32(0.0)
        elif which != GROUND:
            highlight = max(dot(bounced, light), float32(0.0))
            highlight = float32(0.8) * highlight**64

        ambient = float32(0.50) + float32(0.25) * normal[1]
        shade = add(scale(ZENITH, ambient), scale(SUN_COLOUR, sunlight))
        shaded = scale(multiply(albedo, shade), float32(1.0) - reflected)
        shaded = add(shaded, scale(SUN_COLOUR, highlight))
        visible = mix(shaded, HORIZON, haze)
        colour = add(colour, multiply(weight, visible))

        weight = multiply(weight, scale(tint, reflected * (float32(1.0) - haze)))
        if max(weight[0], max(weight[1], weight[2])) < float32(0.01):
            break
        origin = start
        direction = normalize(bounced)
    return colour


@cuda.jit(device=True)
def pixel_noise(x, y):
    """A fixed number in 0..1 for each pixel, different in its neighbours."""
    # numba computes products of 32-bit integers in 64 bits, hence a cast after each.
    bits = uint32(uint32(x) * uint32(1597334677)) ^ uint32(uint32(y) * uint32(3812015801))
    bits = uint32(bits ^ (bits >> uint32(15)))
    bits = uint32(bits * uint32(2246822519))
    return float32((bits >> uint32(8)) & uint32(0xFFFF)) / float32(65536.0)


@cuda.jit(device=True)
def towards_sun(number, count, noise):
    """Direction `number` of `count` to a point on the sun's disc, on a spiral turned by `noise`."""
    radius = SUN_RADIUS * math.sqrt((float32(number) + float32(0.5)) / float32(count))
    # 2.39996 is the golden angle, which spreads the points of a spiral evenly over a disc.
    angle = float32(2.3999632) * float32(number) + float32(6.2831853) * noise
    side = radius * math.cos(angle)
    up = radius * math.sin(angle)
    right = normalize((SUN[2], float32(0.0), -SUN[0]))
    above = (SUN[1] * right[2], SUN[2] * right[0] - SUN[0] * right[2], -SUN[1] * right[0])
    return normalize(add(SUN, add(scale(right, side), scale(above, up))))


@cuda.jit(device=True)
def film(value):
    """Brightness to display value: a filmic curve (Narkowicz 2015), then gamma."""
    value = value * float32(0.65)
    top = value * (float32(2.51) * value + float32(0.03))
    bottom = value * (float32(2.43) * value + float32(0.59)) + float32(0.14)
    return min(top / bottom, float32(1.0)) ** float32(1.0 / 2.2)


@cuda.jit(fastmath=True)
def render(image, spheres, camera, samples, bounces):
    """Fill image, float32 (height, width, 3), with display values in 0..1.

    spheres: float32 (n, 9), see raytracer_scene. camera: float32 (4, 3): position, right, up and
    forward; right and up are as long as half the picture's height at distance 1.
    samples: rays along each side of a pixel. bounces: most surfaces that one ray meets.
    """
    x, y = cuda.grid(2)
    height = image.shape[0]
    width = image.shape[1]
    if x >= width or y >= height:
        return
    noise = pixel_noise(x, y)
    count = samples * samples
    total = (float32(0.0), float32(0.0), float32(0.0))
    for number in range(count):
        dx = (float32(number % samples) + float32(0.5)) / float32(samples)
        dy = (float32(number // samples) + float32(0.5)) / float32(samples)
        half = float32(0.5) * float32(height)
        u = (float32(x) + dx - float32(0.5) * float32(width)) / half
        v = (half - float32(y) - dy) / half
        across = add(scale(row(camera, 1, 0), u), scale(row(camera, 2, 0), v))
        direction = normalize(add(row(camera, 3, 0), across))
        # 5 has no factor in common with 4, 9 or 16: neighbours get distant points of the sun.
        light = towards_sun((number * 5) % count, count, noise)
        total = add(total, trace(row(camera, 0, 0), direction, light, spheres, bounces))
    mean = scale(total, float32(1.0) / float32(count))
    image[y, x, 0] = film(mean[0])
    image[y, x, 1] = film(mean[1])
    image[y, x, 2] = film(mean[2])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=960)
    parser.add_argument("--height", type=int, default=540)
    parser.add_argument("--samples", type=int, default=3, help="rays along each side of a pixel")
    parser.add_argument("--bounces", type=int, default=5)
    parser.add_argument("--out", help="PNG file to draw")
    args = parser.parse_args()

    spheres = cuda.to_device(scene.spheres())
    camera = cuda.to_device(scene.camera())
    image = cuda.device_array((args.height, args.width, 3), np.float32)
    grid = (-(-args.width // BLOCK[0]), -(-args.height // BLOCK[1]))
    time_ms = milliseconds(
        lambda: render[grid, BLOCK](
            image, spheres, camera, np.int32(args.samples), np.int32(args.bounces)
        )
    )
    got = image.copy_to_host()
    if args.out:
        write_png(args.out, to_bytes(got))

    step = max(1, args.height // 40)
    want = scene.reference(args.width, args.height, args.samples, args.bounces, step)
    # A ray that only just meets or misses an edge may go either way.
    close = float((np.abs(got[::step, ::step] - want).max(-1) < 0.02).mean())
    if not close > 0.95:
        sys.exit(f"raytracer: wrong, only {close:.1%} of the pixels are as numpy's")
    rays = args.width * args.height * args.samples**2
    print(
        f"raytracer: {args.width}x{args.height}, {rays / 1e6:.1f} million camera rays, "
        f"{close:.1%} of sampled pixels as numpy, {time_ms:.0f} ms"
    )


if __name__ == "__main__":
    main()
