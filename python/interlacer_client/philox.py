"""Counter-based random numbers, equal to those of the C++ code: Philox4x32-10 of Salmon et al., 2011."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Stream of the planner's draws.
PLANNER_STREAM = 14
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)


def philox(seed: int, stream: Any, a: Any, b: Any, c: Any) -> NDArray[np.uint64]:
    """Four 32-bit words [..., 4] of a 64-bit key and a counter of four 32-bit words, which are broadcast."""
    x = list(np.broadcast_arrays(*(np.asarray(word, dtype=np.uint64) for word in (stream, a, b, c))))
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * x[0], np.uint64(0xCD9E8D57) * x[2]
        x = [p1 >> _SHIFT ^ x[1] ^ np.uint64(k0), p1 & _LOW, p0 >> _SHIFT ^ x[3] ^ np.uint64(k1), p0 & _LOW]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(x, axis=-1)


def normal(seed: int, stream: Any, a: Any, b: Any, c: Any) -> NDArray[np.float64]:
    """Standard normal draws, one a counter: Box-Muller on the first two words."""
    words = philox(seed, stream, a, b, c)
    u, v = (words[..., 0] + 0.5) * 2.0**-32, words[..., 1] * 2.0**-32
    draws: NDArray[np.float64] = np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v)
    return draws
