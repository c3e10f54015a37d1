"""Dropout: in training, parts of the input become zero at random and the rest is scaled up."""

from __future__ import annotations

from ._declared import Declared

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]

_SETTINGS = ["p", "training", "inplace"]


class _DropoutNd(Declared):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd, function="dropout", takes=_SETTINGS):
    """Each element becomes zero with probability ``p``; the others are divided by ``1 - p``.

    >>> torch.nn.Dropout(0.5).eval()(torch.ones(3))
    tensor([1., 1., 1.])
    """


class Dropout1d(_DropoutNd, function="dropout1d", takes=_SETTINGS):
    """Whole channels of sequences (N, C, L) or (C, L) become zero."""


class Dropout2d(_DropoutNd, function="dropout2d", takes=_SETTINGS):
    """Whole channels of images (N, C, H, W) become zero."""


class Dropout3d(_DropoutNd, function="dropout3d", takes=_SETTINGS):
    """Whole channels of volumes (N, C, D, H, W) become zero."""


class AlphaDropout(_DropoutNd, function="alpha_dropout", takes=["p", "training"]):
    """Dropout that keeps mean and variance for SELU networks (Klambauer et al., 2017)."""


class FeatureAlphaDropout(_DropoutNd, function="feature_alpha_dropout", takes=["p", "training"]):
    """``AlphaDropout`` of whole channels."""
