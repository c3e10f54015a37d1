"""What the processor can do."""

from __future__ import annotations

# NumPy's names of instruction sets (before and since 2.4), widest first, and PyTorch's.
_NAMES = (("X86_V4", "AVX512"), ("AVX512F", "AVX512"), ("X86_V3", "AVX2"), ("AVX2", "AVX2"))


def get_cpu_capability() -> str:
    """The widest vector instructions that NumPy found: ``"AVX512"``, ``"AVX2"`` or ``"DEFAULT"``."""
    import numpy as np

    config = np.show_config(mode="dicts") or {}
    extensions = config.get("SIMD Extensions", {})
    usable = {*extensions.get("baseline", ()), *extensions.get("found", ())}
    return next((name for numpy_name, name in _NAMES if numpy_name in usable), "DEFAULT")
