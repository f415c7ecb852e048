"""How far apart colours are, to people who see all of them and to people with each kind of colour blindness."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Machado, Oliveira and Fernandes (2009), "A Physiologically-based Model for Simulation of Color Vision Deficiency",
# full severity; for linear RGB.
SIGHT = {
    "all colours": np.eye(3),
    "no red": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no green": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "no blue": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def channels(colour: str) -> Array:
    """Return the channels of a colour such as ``"#2c77b8"``, from 0 to 255."""
    return np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)], dtype=np.float64)


def ramp(stops: list[str], n: int = 33) -> list[Array]:
    """Return colours between the stops, in equal steps of the channels."""
    at = np.linspace(0, len(stops) - 1, n)
    every = np.array([channels(stop) for stop in stops])
    return list(np.stack([np.interp(at, np.arange(len(stops)), every[:, k]) for k in range(3)], axis=1))


def difference(one: Array, other: Array, sight: str = "all colours") -> float:
    """Return the distance in CIELAB; colours that are 10 apart differ at a glance."""
    return float(np.linalg.norm(_lab(SIGHT[sight] @ _linear(one)) - _lab(SIGHT[sight] @ _linear(other))))


def contrast(one: Array, other: Array) -> float:
    """Return the contrast of WCAG, from 1 to 21."""
    dark, light = sorted(float(_XYZ[1] @ _linear(colour)) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


def _linear(colour: Array) -> Array:
    share = colour / 255
    return np.asarray(np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4))


def _lab(linear: Array) -> Array:
    x, y, z = _XYZ @ np.clip(linear, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = [np.cbrt(t) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z)]
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])
