"""Floor 3: the table of operators, a file per family."""

from __future__ import annotations

FAMILIES = (
    "views", "matmul", "pointwise", "compare", "trig", "activation", "pairs", "rounding", "complexes", "reduce",
    "extrema", "scan", "order", "sorting", "gather", "indexed", "shape", "arrange", "strided", "pad", "loss", "norm",
    "embedding", "conv", "attention", "special", "pooling", "vision", "powers", "linalg_norms", "einsum",
    "linalg_solve", "linalg_spectral", "linalg", "fft",
)  # fmt: skip


def load() -> None:
    """Fill the table."""
    from importlib import import_module

    for name in FAMILIES:
        import_module(f"{__name__}.{name}")
