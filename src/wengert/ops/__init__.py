"""Floor 3: the table of operators, a file per family."""

from __future__ import annotations

FAMILIES = ("views", "matmul", "pointwise", "compare", "trig", "activation", "pairs", "rounding", "complexes", "reduce", "extrema", "gather", "shape", "loss", "norm", "embedding", "conv", "attention")


def load() -> None:
    """Fill the table."""
    from importlib import import_module

    for name in FAMILIES:
        import_module(f"{__name__}.{name}")
