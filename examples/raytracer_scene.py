"""What raytracer.py draws, and the same picture in numpy, to compare with."""

from __future__ import annotations

import numpy as np

FAR = 1e6  # no hit is further away
EPSILON = 1e-3  # a reflected ray starts this far above the surface

SUN_RADIUS = 0.045  # of the disc at distance 1; the real sun has 0.0047
SUN_COLOUR = np.array([2.3, 1.9, 1.4])
HORIZON = np.array([0.62, 0.74, 0.90])
ZENITH = np.array([0.07, 0.19, 0.55])
TILE_LIGHT = np.array([0.62, 0.58, 0.50])
TILE_DARK = np.array([0.035, 0.045, 0.07])
GROUND_MIRROR = 0.05
FOG = 0.018  # a unit of length

_sun = np.array([-0.72, 0.62, -0.18])
SUN = _sun / np.linalg.norm(_sun)


def spheres() -> np.ndarray:
    """float32 (n, 9): centre x y z, radius, colour r g b, share reflected head-on, metalness."""
    table = [
        # The chrome one in the middle, a gold and a copper one at its sides.
        (0.0, 1.25, 0.6, 1.25, 0.90, 0.92, 0.95, 0.88, 1.0),
        (2.35, 0.85, -0.1, 0.85, 0.98, 0.74, 0.32, 0.78, 1.0),
        (-2.3, 0.80, -0.3, 0.80, 0.93, 0.55, 0.42, 0.70, 1.0),
    ]
    palette = [
        (0.86, 0.10, 0.12),
        (0.95, 0.45, 0.06),
        (0.93, 0.76, 0.10),
        (0.16, 0.62, 0.24),
        (0.06, 0.50, 0.62),
        (0.13, 0.22, 0.75),
        (0.48, 0.16, 0.66),
        (0.85, 0.20, 0.48),
    ]
    # Two rings of small glossy ones: in front on the ground, and behind, larger.
    for k in range(9):
        angle = np.radians(200 + 17.5 * k)
        radius = 0.24 + 0.06 * (k % 2)
        x, z = 3.1 * np.cos(angle), 0.3 + 2.6 * np.sin(angle)
        table.append((x, radius, z, radius, *palette[k % 8], 0.06, 0.0))
    for k in range(7):
        angle = np.radians(25 + 21.5 * k)
        radius = 0.45 + 0.16 * ((3 * k) % 4)
        x, z = 6.2 * np.cos(angle), 1.2 + 4.0 * np.sin(angle)
        table.append((x, radius, z, radius, *palette[(3 * k + 4) % 8], 0.08, 0.0))
    return np.array(table, np.float32)


def camera() -> np.ndarray:
    """float32 (4, 3): position, then right, up (half the picture's height) and forward."""
    position, target = np.array([0.7, 1.9, -6.6]), np.array([0.05, 0.92, 0.3])
    half_height = np.tan(np.radians(40.0) / 2)
    forward = _unit(target - position)
    right = _unit(np.cross([0.0, 1.0, 0.0], forward))
    up = np.cross(forward, right)
    return np.array([position, right * half_height, up * half_height, forward], np.float32)


def reference(width: int, height: int, samples: int, bounces: int, step: int) -> np.ndarray:
    """Every step-th pixel of every step-th row, float64 (rows, columns, 3), display values."""
    y, x = np.mgrid[0:height:step, 0:width:step]
    position, right, up, forward = camera().astype(np.float64)
    balls = spheres().astype(np.float64)
    noise = _pixel_noise(x, y).ravel()
    count = samples * samples
    total = np.zeros((x.size, 3))
    for number in range(count):
        u = (x + (number % samples + 0.5) / samples - width / 2).ravel() / (height / 2)
        v = (height / 2 - y - (number // samples + 0.5) / samples).ravel() / (height / 2)
        direction = _unit(forward + u[:, None] * right + v[:, None] * up)
        light = _towards_sun(number * 5 % count, count, noise)
        origin = np.broadcast_to(position, direction.shape)
        total += _trace(origin, direction, light, balls, bounces)
    return _film(total / count).reshape(*x.shape, 3)


def _trace(origin, direction, light, balls, bounces: int) -> np.ndarray:
    """All rays at once; those that have ended leave the arrays."""
    colour = np.zeros_like(direction)
    ray = np.arange(len(direction))
    weight = np.ones_like(direction)
    for _ in range(bounces):
        distance, which = _nearest(origin, direction, balls)
        miss = which == -2
        colour[ray[miss]] += weight[miss] * _sky(direction[miss])
        hit = ~miss
        if not hit.any():
            break
        origin, direction, light, weight, ray, distance, which = (
            v[hit] for v in (origin, direction, light, weight, ray, distance, which)
        )
        point = origin + direction * distance[:, None]
        normal, albedo, mirror, tint, haze = _surface(point, distance, which, balls)
        facing = np.maximum(-_dot(direction, normal), 0)
        reflected = mirror + (1 - mirror) * (1 - facing) ** 5
        origin = point + normal * EPSILON
        direction = _unit(direction + normal * (2 * facing)[:, None])
        sunlight = np.maximum(_dot(normal, light), 0)
        sunlight[_nearest(origin, light, balls)[1] >= 0] = 0
        highlight = 0.8 * np.maximum(_dot(direction, light), 0) ** 64
        highlight[(sunlight == 0) | (which < 0)] = 0
        ambient = 0.50 + 0.25 * normal[:, 1]
        shade = ambient[:, None] * ZENITH + sunlight[:, None] * SUN_COLOUR
        shaded = albedo * shade * (1 - reflected)[:, None] + highlight[:, None] * SUN_COLOUR
        colour[ray] += weight * (shaded + (HORIZON - shaded) * haze[:, None])
        weight = weight * tint * (reflected * (1 - haze))[:, None]
        go_on = weight.max(1) >= 0.01
        origin, direction, light, weight, ray = (
            v[go_on] for v in (origin, direction, light, weight, ray)
        )
    return colour


def _surface(point, distance, which, balls):
    """Normal, albedo, head-on reflection, tint of the reflection and haze at each point."""
    ground = which == -1
    ball = balls[np.maximum(which, 0)]
    odd = (np.floor(point[:, 0]) + np.floor(point[:, 2])).astype(int) & 1
    tile = np.where(odd[:, None] == 1, TILE_DARK, TILE_LIGHT)
    normal = np.where(ground[:, None], [0.0, 1.0, 0.0], (point - ball[:, :3]) / ball[:, 3:4])
    albedo = np.where(ground[:, None], tile, ball[:, 4:7])
    mirror = np.where(ground, GROUND_MIRROR, ball[:, 7])
    tint = np.where(ground[:, None], 1.0, 1 + (ball[:, 4:7] - 1) * ball[:, 8:9])
    haze = np.where(ground, 1 - np.exp(-FOG * distance), 0.0)
    return normal, albedo, mirror, tint, haze


def _nearest(origin, direction, balls):
    """Distance and what is hit: a sphere's number, -1 for the ground, -2 for the sky."""
    best = np.full(len(direction), FAR)
    which = np.full(len(direction), -2)
    down = direction[:, 1] < 0
    distance = np.where(down, -origin[:, 1] / np.where(down, direction[:, 1], 1), FAR)
    ground = (distance > EPSILON) & (distance < best)
    best[ground], which[ground] = distance[ground], -1
    for k, ball in enumerate(balls):
        to_centre = ball[:3] - origin
        along = _dot(to_centre, direction)
        left = ball[3] ** 2 - (_dot(to_centre, to_centre) - along**2)
        distance = along - np.sqrt(np.maximum(left, 0))
        nearer = (left >= 0) & (distance > EPSILON) & (distance < best)
        best[nearer], which[nearer] = distance[nearer], k
    return best, which


def _sky(direction) -> np.ndarray:
    height = np.sqrt(np.maximum(direction[:, 1:2], 0))
    glow = np.maximum(_dot(direction, SUN), 0)[:, None]
    halo = 0.12 * glow**16 + 1.5 * glow**1024
    return HORIZON + (ZENITH - HORIZON) * height + SUN_COLOUR * halo


def _towards_sun(number: int, count: int, noise) -> np.ndarray:
    radius = SUN_RADIUS * np.sqrt((number + 0.5) / count)
    angle = 2.3999632 * number + 6.2831853 * noise
    right = _unit(np.array([SUN[2], 0.0, -SUN[0]]))
    above = np.cross(SUN, right)
    side = np.cos(angle)[:, None] * right + np.sin(angle)[:, None] * above
    return _unit(SUN + radius * side)


def _pixel_noise(x, y) -> np.ndarray:
    bits = x.astype(np.uint32) * np.uint32(1597334677) ^ y.astype(np.uint32) * np.uint32(3812015801)
    bits = (bits ^ (bits >> np.uint32(15))) * np.uint32(2246822519)
    return ((bits >> np.uint32(8)) & np.uint32(0xFFFF)) / 65536.0


def _film(value) -> np.ndarray:
    value = value * 0.65
    curve = value * (2.51 * value + 0.03) / (value * (2.43 * value + 0.59) + 0.14)
    return np.minimum(curve, 1.0) ** (1 / 2.2)


def _dot(a, b) -> np.ndarray:
    return (a * b).sum(-1)


def _unit(a) -> np.ndarray:
    return a / np.linalg.norm(a, axis=-1, keepdims=True)
