"""Ready parametrizations: orthogonal matrices, weight normalization, spectral normalization."""

from __future__ import annotations

from typing import Any

from wengert.functions.settings import finfo
from wengert.graph import no_grad
from wengert.nn import functional as F
from wengert.nn._tensors import cat, eye, geqrf, randn, zeros_like
from wengert.nn.modules.conv import _ConvTransposeNd
from wengert.nn.modules.module import Module
from wengert.tensor import Tensor

from .parametrize import register_parametrization
from .weight_norm import norm_except_dim

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_MAPS = ("matrix_exp", "cayley", "householder")


def _tensor_of(module: Module, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


def _is_orthogonal(matrix: Tensor) -> bool:
    rows, columns = matrix.shape[-2:]
    tolerance = 10.0 * rows * finfo(matrix.dtype).eps
    return bool(((matrix.mH @ matrix - eye(columns, dtype=matrix.dtype)).abs() <= tolerance).all())


def _make_orthogonal(matrix: Tensor) -> Tensor:
    """The orthogonal factor whose triangular partner has a positive diagonal."""
    from wengert.linalg import qr

    q, r = qr(matrix)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """(*, n, k) -> matrices with orthonormal columns (rows where n < k).

    ``matrix_exp`` and ``cayley`` map the skew-symmetric part of the original to a rotation; ``householder`` takes its
    lower part as reflections. With ``use_trivialization`` the map starts at the assigned matrix, ``base``
    (Lezcano-Casado, 2019).
    """

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.size(-2) < X.size(-1)
        X = X.mT if wide else X
        Q = self._reflections(X) if self.orthogonal_map == "householder" else self._rotation(X)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if wide else Q

    def _rotation(self, X: Tensor) -> Tensor:
        from wengert.linalg import matrix_exp, solve

        n, k = X.shape[-2:]
        X = X.tril()
        if n != k:
            X = cat([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], dim=-1)
        A = X - X.mH
        if self.orthogonal_map == "matrix_exp":
            Q = matrix_exp(A)
        else:
            identity = eye(n, dtype=A.dtype, device=A.device)
            Q = solve(identity - A / 2, identity + A / 2)
        return Q if n == k else Q[..., :k]

    def _reflections(self, X: Tensor) -> Tensor:
        from wengert.linalg import householder_product

        A = X.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
        signs = X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)  # no gradient: the diagonal holds only signs
        return householder_product(A, tau) * signs

    def right_inverse(self, Q: Tensor) -> Tensor:
        """The original for the matrix ``Q``, made orthogonal first where it is not."""
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape "
                f"{Q.shape}.")
        with no_grad():
            given = Q
            wide = Q.size(-2) < Q.size(-1)
            Q = Q.mT if wide else Q
            if not hasattr(self, "base"):
                if self.orthogonal_map != "householder":
                    raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley "
                        "parametrizations when use_trivialization=False.")
                A, tau = geqrf(Q)
                diagonal = A.diagonal(dim1=-2, dim2=-1)
                diagonal.sign_()
                diagonal[tau == 0.0] *= -1  # a zero tau means the identity, which no reflection gives
                return A.mT if wide else A
            n, k = Q.shape[-2:]
            if n != k:
                filler = randn(*Q.shape[:-2], n, n - k, dtype=Q.dtype, device=Q.device)
                self.base = _make_orthogonal(cat([Q, filler], dim=-1))
            else:
                self.base = Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
            start = zeros_like(given)  # -1 on the diagonal is what the maps send to the identity
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return start


def orthogonal(module: Module, name: str = "weight", orthogonal_map: str | None = None, *,
        use_trivialization: bool = True) -> Module:
    """Keep the matrix (or matrices) ``name`` orthogonal (unitary if complex) while it is trained.

    ``orthogonal_map``: ``"matrix_exp"`` (the default for square ones), ``"cayley"`` or ``"householder"``.

    >>> m = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(4, 4))
    >>> torch.allclose(m.weight @ m.weight.T, torch.eye(4), atol=1e-5)
    True
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError('orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}")
    parametrization = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, parametrization, unsafe=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Split the weight into its norm along ``dim``, ``original0``, and its direction, ``original1`` (Salimans, 2016).

    ``dim=None`` takes one norm of the whole tensor. State dicts of the older ``weight_norm`` can be loaded.
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def accept_old_names(state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(accept_old_names)
    return module


class _SpectralNorm(Module):
    """``weight / sigma``, its largest singular value estimated by power iteration, one more at each training call."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError("Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}")
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            with no_grad():
                matrix = self._as_matrix(weight)
                for buffer, size in zip(("_u", "_v"), matrix.shape, strict=True):
                    start = matrix.new_empty(size).normal_(0, 1)
                    self.register_buffer(buffer, F.normalize(start, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _as_matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    def _iterate(self, matrix: Tensor, times: int) -> None:
        with no_grad():  # by ``out=``, which functions of torch.func may do with a captured module, unlike other writes
            for _ in range(times):
                self._u = F.normalize(matrix.mv(self._v), dim=0, eps=self.eps, out=self._u)  # type: ignore[call-arg]
                self._v = F.normalize(matrix.mH.mv(self._u), dim=0, eps=self.eps, out=self._v)  # type: ignore[call-arg]

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._as_matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # a later call writes into the buffers before backward has used them
        return weight / u.vdot(matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def default_dim(module: Module) -> int:
    """The dimension of a weight that counts its outputs."""
    return 1 if isinstance(module, _ConvTransposeNd) else 0


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
        dim: int | None = None) -> Module:
    """Divide the weight, as a matrix with ``dim`` in front, by its largest singular value (Miyato et al., 2018)."""
    weight = _tensor_of(module, name)
    dim = default_dim(module) if dim is None else dim
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
