"""Softmax over very many classes."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from wengert.nn import functional as F
from wengert.tensor import Tensor

from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Classes sorted by frequency, the rare ones in clusters of smaller projections (Grave et al., 2017).

    ``forward(input, target)`` with shapes (N, in_features), (N) gives ``output`` (N), the targets' log probabilities,
    and ``loss``, their negative mean. The head scores the classes below ``cutoffs[0]`` and the clusters.
    """

    def __init__(self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
            head_bias: bool = False, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        factory = {"device": device, "dtype": dtype}
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1
                or any(int(c) != c for c in cutoffs)):
            raise ValueError("cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                "where each value is between 1 and n_classes-1")
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **factory)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            inner = int(in_features // (div_value ** (i + 1)))
            self.tail.append(
                Sequential(Linear(in_features, inner, bias=False, **factory),
                    Linear(inner, high - low, bias=False, **factory))
            )

    def reset_parameters(self) -> None:
        self.head.reset_parameters()
        for cluster in self.tail:
            for layer in cluster:  # type: ignore[attr-defined]
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        dims = target_.dim()
        if dims > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if dims == 1 and input_.size(0) != target_.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input_.dim() != dims + 1:
            raise RuntimeError(f"{dims}D target tensor expects {dims + 1}D input tensors, but found inputs with size "
                f"{input_.size()}")
        is_batched = dims > 0
        input, target = (input_, target_) if is_batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        head = F.log_softmax(self.head(input), dim=1)
        output = input.new_zeros(target.size(0))
        in_head = target.clone()  # the column of the head that each target uses
        used = int((target < self.shortlist_size).logical_and(target >= 0).sum())
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            used += rows.numel()
            in_head[rows] = self.shortlist_size + i
            within = F.log_softmax(self.tail[i](input.index_select(0, rows)), dim=1)
            chosen = within.gather(1, (target.index_select(0, rows) - low).unsqueeze(1))
            output = output.index_copy(0, rows, chosen.squeeze(1))
        if used != target.size(0):
            raise RuntimeError(f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. ")
        output = output + head.gather(1, in_head.unsqueeze(1)).squeeze(1)
        return _ASMoutput(output if is_batched else output.squeeze(0), (-output).mean())

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        out = input.new_empty((head_output.size(0), self.n_classes))
        head = F.log_softmax(head_output, dim=1)
        short = self.shortlist_size
        out[:, :short] = head[:, :short]
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            out[:, low:high] = F.log_softmax(self.tail[i](input), dim=1) + head[:, short + i].unsqueeze(1)
        return out

    def log_prob(self, input: Tensor) -> Tensor:
        """The log probabilities of all classes: (N, in_features) -> (N, n_classes)."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The likeliest classes: (N, in_features) -> (N). Clusters are looked into only where the head points there."""
        head = self.head(input)
        output = head.argmax(dim=1)
        outside = output >= self.shortlist_size
        if outside.any():
            output[outside] = self._get_full_log_prob(input[outside], head[outside]).argmax(dim=1)
        return output
