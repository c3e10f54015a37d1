"""What is used of SciPy, and what is said where it is missing."""

from __future__ import annotations

try:
    from scipy.linalg import eigh
    from scipy.sparse.linalg import LinearOperator, aslinearoperator, eigsh
except ImportError as error:
    raise ImportError("wengert.curvature gives SciPy's linear operators, and SciPy is missing: "
        "pip install 'wengert[curvature]'") from error

__all__ = ["LinearOperator", "aslinearoperator", "eigh", "eigsh"]
