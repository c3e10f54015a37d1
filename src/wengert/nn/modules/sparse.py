"""Tables of vectors looked up by index."""

from __future__ import annotations

from typing import Any, Self

from wengert.graph import no_grad
from wengert.nn import functional as F
from wengert.nn import init
from wengert.nn._tensors import empty
from wengert.nn.parameter import Parameter
from wengert.tensor import Tensor

from .module import Module
from .utils import _unusual

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """A weight of ``num_embeddings`` rows, one of which may be padding: zero at first and without a gradient."""

    weight: Tensor
    padding_idx: int | None

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None, max_norm: float | None,
            norm_type: float, scale_grad_by_freq: bool, weight: Tensor | None, device: Any, dtype: Any,
            freeze: bool = False) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < max(num_embeddings, 1):
                name = "Padding_idx" if isinstance(self, Embedding) else "padding_idx"
                raise AssertionError(f"{name} must be within num_embeddings")
            if padding_idx < 0:
                padding_idx += num_embeddings
        self.padding_idx, self.max_norm, self.norm_type = padding_idx, max_norm, norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        given = empty((num_embeddings, embedding_dim), device=device, dtype=dtype) if weight is None else weight
        if list(given.shape) != [num_embeddings, embedding_dim]:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        self.weight = Parameter(given, requires_grad=not freeze)
        if weight is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the vectors anew from the standard normal distribution; the padding is zero."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @classmethod
    def _holding(cls, embeddings: Tensor, freeze: bool, **settings: Any) -> Self:
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        table = cls(*embeddings.shape, _weight=embeddings, **settings)  # type: ignore[call-arg]
        table.weight.requires_grad = not freeze
        return table


class Embedding(_Table):
    """The vectors of indices: (*) of integers -> (*, embedding_dim).

    ``max_norm`` shortens, in place, the vectors that are looked up; ``scale_grad_by_freq`` divides gradients by how
    often an index occurs; ``sparse`` makes the gradient a sparse tensor.

    >>> torch.nn.Embedding(10, 3)(torch.tensor([[1, 2], [4, 5]])).shape
    torch.Size([2, 2, 3])
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
            max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
            sparse: bool = False, _weight: Tensor | None = None, _freeze: bool = False, device: Any = None,
            dtype: Any = None) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, _weight,
            device, dtype, _freeze)
        self.sparse = sparse

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq,
            self.sparse)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}" + _unusual(self, padding_idx=None, max_norm=None,
            norm_type=2, scale_grad_by_freq=False, sparse=False)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None,
            max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
            sparse: bool = False) -> Self:
        """A table that holds the rows of ``embeddings``; they are not trained unless ``freeze=False``."""
        return cls._holding(embeddings, freeze, padding_idx=padding_idx, max_norm=max_norm, norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


class EmbeddingBag(_Table):
    """The sum, mean or maximum of the vectors of bags of indices, without building the vectors one by one.

    ``forward(input, offsets, per_sample_weights)``: (B, N) bags of equal size, or all indices in one dimension and
    ``offsets`` (B) where bags start -> (B, embedding_dim). ``per_sample_weights`` only with ``mode="sum"``.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
            scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: Tensor | None = None,
            include_last_offset: bool = False, padding_idx: int | None = None, device: Any = None,
            dtype: Any = None) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, _weight,
            device, dtype)
        self.mode, self.sparse, self.include_last_offset = mode, sparse, include_last_offset

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
            self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx)

    def extra_repr(self) -> str:
        text = _unusual(self, max_norm=None, norm_type=2, scale_grad_by_freq=False)
        end = _unusual(self, padding_idx=None)
        return f"{self.num_embeddings}, {self.embedding_dim}{text}, mode={self.mode!r}{end}"

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, max_norm: float | None = None,
            norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
            include_last_offset: bool = False, padding_idx: int | None = None) -> Self:
        """A table that holds the rows of ``embeddings``; they are not trained unless ``freeze=False``."""
        return cls._holding(embeddings, freeze, max_norm=max_norm, norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq, mode=mode, sparse=sparse, include_last_offset=include_last_offset,
            padding_idx=padding_idx)
