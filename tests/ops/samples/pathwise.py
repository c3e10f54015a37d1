"""Random numbers and their derivatives by parameters are compared with PyTorch's in ``tests/parity``: they have no second derivative."""

from __future__ import annotations

from typing import Any

import wengert.ops.pathwise  # noqa: F401  declares them

SAMPLES: dict[str, list[Any]] = {"drawn_gamma": [], "drawn_shares": [], "drawn_counts": [], "_standard_gamma_grad": [], "_dirichlet_grad": []}
