"""Changes of variable, ``torch.distributions.transforms``: functions with an inverse and the logarithm of their
Jacobian.

``y = t(x)``, ``x = t.inv(y)``, ``t.log_abs_det_jacobian(x, y)``. With ``cache_size=1`` a transform remembers its last
pair, so that the inverse of what it has just made costs nothing.

>>> t = torch.distributions.transforms.ExpTransform()
>>> t(torch.tensor([0.0, 1.0]))
tensor([1.0000, 2.7183])
"""

from __future__ import annotations

from .compound_transforms import (
    CatTransform,
    ComposeTransform,
    IndependentTransform,
    StackTransform,
    identity_transform,
)
from .elementary_transforms import (
    AbsTransform,
    AffineTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StickBreakingTransform,
    TanhTransform,
)
from .transform import Transform, _InverseTransform  # noqa: F401  (what libraries of distributions look for here)

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform",
]
