"""Packs the direction numbers of Joe and Kuo into ``src/wengert/arrays/joe_kuo.bin``, from the table that SciPy ships.

    python tools/joe_kuo.py

The file holds, for dimensions 2 to 21201, first how far each primitive polynomial lies above the one before (a byte:
half of the distance, from 1 on), then for each dimension of degree s its initial numbers m_2 … m_s, odd and below 2^i,
in i - 1 bits each.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

TARGET = Path(__file__).parent.parent / "src" / "wengert" / "arrays" / "joe_kuo.bin"


def packed(polynomials: np.ndarray, initial: np.ndarray) -> bytes:
    """The bytes of the file, from polynomials ``(n,)`` and initial numbers ``(n, 18)``, the first
    dimension included.
    """
    steps = (np.diff(polynomials) // 2).astype(np.uint8)
    bits: list[np.ndarray] = []
    for polynomial, row in zip(polynomials[1:].tolist(), initial[1:].tolist()):
        for m, size in zip(row[1 : polynomial.bit_length() - 1], range(1, 18)):
            bits.append(np.array([m >> k & 1 for k in range(size, 0, -1)], np.uint8))
    return steps.tobytes() + np.packbits(np.concatenate(bits)).tobytes()


def main() -> None:
    """Write the file."""
    import scipy.stats

    with np.load(Path(scipy.stats.__file__).parent / "_sobol_direction_numbers.npz") as table:
        TARGET.write_bytes(packed(table["poly"], table["vinit"]))


if __name__ == "__main__":
    main()
