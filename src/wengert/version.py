"""Which PyTorch the public surface follows: ``torch.version``, and ``torch.__version__`` in a program run by wengert.

Wengert's own version is ``wengert.__version__``.
"""

from __future__ import annotations

from .torch_version import __version__

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

debug = False
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
git_version = "unknown"
