"""Losses.

``reduction`` is ``"none"``, ``"mean"`` or ``"sum"``; ``size_average`` and ``reduce`` are its deprecated forms. Shapes
are those of the functions of the same names in ``nn.functional``.
"""

from __future__ import annotations

import math
import warnings
from collections import namedtuple
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from wengert.nn import functional as F
from wengert.ops.loss import legacy
from wengert.tensor import Tensor

from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

Flag = bool | None

__all__ = ["AdaptiveLogSoftmaxWithLoss", "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss",
    "CosineSimilarity", "CrossEntropyLoss", "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss",
    "L1Loss", "LinearCrossEntropyLoss", "LinearCrossEntropyOptions", "MSELoss", "MarginRankingLoss",
    "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "NLLLoss2d", "PairwiseDistance",
    "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss"]


class PairwiseDistance(Module):
    """``norm(x1 - x2 + eps, p)`` along the last dimension: (N, D) or (D), broadcast -> (N).

    >>> torch.nn.PairwiseDistance(p=1)(torch.zeros(1, 2), torch.ones(1, 2))
    tensor([2.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between ``x1`` and ``x2`` along ``dim``, which is removed."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class _Loss(Module):
    """A loss; one of ``(input, target)`` names its function, and the attributes that it takes besides ``reduction``."""

    reduction: str

    def __init_subclass__(cls, function: str | None = None, takes: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if function is None:
            return

        def forward(self, input: Tensor, target: Tensor) -> Tensor:
            if not takes:
                return getattr(F, function)(input, target, reduction=self.reduction)
            settings = {name: getattr(self, name) for name in takes}
            return getattr(F, function)(input, target, reduction=self.reduction, **settings)

        cls.forward = forward  # type: ignore[method-assign]
        forward.__qualname__ = f"{cls.__qualname__}.forward"

    def __init__(self, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = legacy(size_average, reduce, reduction)


class _WeightedLoss(_Loss):
    weight: Tensor | None

    def __init__(self, weight: Tensor | None = None, size_average: Flag = None, reduce: Flag = None,
            reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss, function="l1_loss"):
    """``|input - target|``.

    >>> torch.nn.L1Loss()(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 4.0]))
    tensor(1.5000)
    """


class MSELoss(_Loss, function="mse_loss"):
    """``(input - target)²``.

    >>> torch.nn.MSELoss(reduction="sum")(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 4.0]))
    tensor(5.)
    """


class SmoothL1Loss(_Loss, function="smooth_l1_loss", takes=["beta"]):
    """``(input - target)² / (2 * beta)`` where the difference is below ``beta``, else ``|difference| - beta / 2``."""

    def __init__(self, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean",
            beta: float = 1.0) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta


class HuberLoss(_Loss, function="huber_loss", takes=["delta"]):
    """``d² / 2`` of ``d = input - target`` where ``|d|`` is below ``delta``, else ``delta * (|d| - delta / 2)``."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta


class NLLLoss(_WeightedLoss, function="nll_loss", takes=["weight", "ignore_index"]):
    """The negative of the target class's log probability.

    ``weight`` is one number for each class; targets equal to ``ignore_index`` count nothing.
    """

    def __init__(self, weight: Tensor | None = None, size_average: Flag = None, ignore_index: int = -100,
            reduce: Flag = None, reduction: str = "mean") -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index


class NLLLoss2d(NLLLoss):
    """Deprecated name of ``NLLLoss``."""

    def __init__(self, weight: Tensor | None = None, size_average: Flag = None, ignore_index: int = -100,
            reduce: Flag = None, reduction: str = "mean") -> None:
        warnings.warn("`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement and see "
            "https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details.", FutureWarning, stacklevel=2)
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class CrossEntropyLoss(_WeightedLoss):
    """``-log(softmax(input)[target])``; the target may also be probabilities of the classes.

    >>> torch.nn.CrossEntropyLoss()(torch.zeros(1, 2), torch.tensor([1]))
    tensor(0.6931)
    """

    def __init__(self, weight: Tensor | None = None, size_average: Flag = None, ignore_index: int = -100,
            reduce: Flag = None, reduction: str = "mean", label_smoothing: float = 0.0) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(input, target, weight=self.weight, ignore_index=self.ignore_index,
            reduction=self.reduction, label_smoothing=self.label_smoothing)


class LinearCrossEntropyOptions:
    """How ``LinearCrossEntropyLoss`` divides its work. Immutable; the fields are those of PyTorch."""

    _fields = ("allow_retain_graph", "batch_chunk_size", "chunking_method", "acc_policy", "acc_dtype")

    def __init__(self, allow_retain_graph: bool = False, batch_chunk_size: int | None = None,
            chunking_method: str | None = "auto", acc_policy: str = "auto", acc_dtype: Any = None) -> None:
        if acc_policy not in ("auto", "accurate", "balanced", "compact"):
            raise ValueError(f"invalid acc_policy: {acc_policy!r}")
        if chunking_method not in (None, "auto"):
            name, _, factor = chunking_method.partition(":")
            if name != "aspect_ratio" or (factor and not (factor.isdigit() and int(factor) > 0)):
                raise ValueError(f"invalid chunking_method: {chunking_method!r}")
        if batch_chunk_size is not None and not (isinstance(batch_chunk_size, int) and batch_chunk_size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {batch_chunk_size!r}")
        self.__setstate__([allow_retain_graph, batch_chunk_size, chunking_method, acc_policy, acc_dtype])

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"cannot assign to field {name!r}")

    def __getstate__(self) -> list[Any]:
        return list(vars(self).values())

    def __setstate__(self, state: list[Any]) -> None:
        vars(self).update(zip(self._fields, state, strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearCrossEntropyOptions) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"LinearCrossEntropyOptions({fields})"


class LinearCrossEntropyLoss(_WeightedLoss):
    """A linear layer and the cross entropy of its output in one, without keeping all the logits.

    (N, in_features) and targets (N, *out_features) of class indices, or (N, num_classes, *out_features) of
    probabilities.
    """

    def __init__(self, in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (), bias: bool = False,
            device: Any = None, dtype: Any = None, reduction: str = "mean", weight: Tensor | None = None,
            ignore_index: int | None = None, label_smoothing: float = 0.0,
            options: LinearCrossEntropyOptions | None = None) -> None:
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, reduction=reduction)
        self.num_classes, self.out_features = num_classes, out_features
        self.ignore_index, self.label_smoothing, self.options = ignore_index, label_smoothing, options
        outputs = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, outputs, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(input, self.linear.weight.reshape((*shape, self.linear.in_features)), target,
            linear_bias=None if bias is None else bias.reshape(shape), weight=self.weight, reduction=self.reduction,
            ignore_index=self.ignore_index, label_smoothing=self.label_smoothing, options=self.options)

    def extra_repr(self) -> str:
        return (f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, reduction={self.reduction}, "
            f"ignore_index={self.ignore_index}, label_smoothing={self.label_smoothing}, options={self.options}")


class PoissonNLLLoss(_Loss):
    """``exp(x) - target * x`` of ``x = log_input``, or ``x - target * log(x + eps)``; ``full`` adds Stirling's term."""

    def __init__(self, log_input: bool = True, full: bool = False, size_average: Flag = None, eps: float = 1e-8,
            reduce: Flag = None, reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(log_input, target, log_input=self.log_input, full=self.full, eps=self.eps,
            reduction=self.reduction)


class GaussianNLLLoss(_Loss):
    """``(log(max(var, eps)) + (input - target)² / max(var, eps)) / 2``; ``full`` adds the constant."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class KLDivLoss(_Loss, function="kl_div", takes=["log_target"]):
    """``target * (log(target) - input)`` of log probabilities ``input``; the target is one too with ``log_target``.

    ``reduction="batchmean"`` is the divergence as mathematics defines it.
    """

    def __init__(self, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean",
            log_target: bool = False) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target


class BCELoss(_WeightedLoss, function="binary_cross_entropy", takes=["weight"]):
    """``-(target * log(input) + (1 - target) * log(1 - input))``, logarithms not below -100."""


class BCEWithLogitsLoss(_Loss, function="binary_cross_entropy_with_logits", takes=["weight", "pos_weight"]):
    """``BCELoss`` of ``sigmoid(input)``, computed stably. ``pos_weight`` scales the positive targets' part."""

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(self, weight: Tensor | None = None, size_average: Flag = None, reduce: Flag = None,
            reduction: str = "mean", pos_weight: Tensor | None = None) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)


class _MarginLoss(_Loss):
    def __init__(self, margin: float = 0.0, size_average: Flag = None, reduce: Flag = None,
            reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class HingeEmbeddingLoss(_MarginLoss, function="hinge_embedding_loss", takes=["margin"]):
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1."""

    def __init__(self, margin: float = 1.0, size_average: Flag = None, reduce: Flag = None,
            reduction: str = "mean") -> None:
        super().__init__(margin, size_average, reduce, reduction)


class CosineEmbeddingLoss(_MarginLoss):
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1."""

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_MarginLoss):
    """``max(0, margin - target * (input1 - input2))``."""

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class SoftMarginLoss(_Loss, function="soft_margin_loss"):
    """``log(1 + exp(-target * input))``."""


class MultiLabelMarginLoss(_Loss, function="multilabel_margin_loss"):
    """The hinge between every class that is a target and every class that is not; targets end at the first -1."""


class MultiLabelSoftMarginLoss(_WeightedLoss, function="multilabel_soft_margin_loss", takes=["weight"]):
    """The mean over the classes of the binary cross entropy with logits."""


class MultiMarginLoss(_WeightedLoss, function="multi_margin_loss", takes=["p", "margin", "weight"]):
    """``sum over other classes of max(0, margin - input[target] + input[other]) ** p / classes``."""

    def __init__(self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: Flag = None,
            reduce: Flag = None, reduction: str = "mean") -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")
        self.p, self.margin = p, margin


def _check_margin(loss: Module, margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"{loss._get_name()}: expected margin to be greater than 0, got {margin} instead")


class TripletMarginLoss(_Loss):
    """``max(0, |anchor - positive| - |anchor - negative| + margin)`` with p-norms; ``swap`` may use the positive."""

    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False,
            size_average: Flag = None, reduce: Flag = None, reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        _check_margin(self, margin)
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(anchor, positive, negative, margin=self.margin, p=self.p, eps=self.eps,
            swap=self.swap, reduction=self.reduction)


class TripletMarginWithDistanceLoss(_Loss):
    """``TripletMarginLoss`` with any distance: ``distance_function(x1, x2)``, by default the Euclidean one."""

    def __init__(self, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0,
            swap: bool = False, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        _check_margin(self, margin)
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap = margin, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(anchor, positive, negative, distance_function=self.distance_function,
            margin=self.margin, swap=self.swap, reduction=self.reduction)


class CTCLoss(_Loss):
    """Connectionist temporal classification (Graves et al., 2006): sequences without alignment.

    ``forward(log_probs, targets, input_lengths, target_lengths)`` with shapes (T, N, C), (N, S) or their concatenation,
    (N), (N). ``zero_infinity`` drops the losses of targets that are too long.
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction,
            self.zero_infinity)


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
            self.tail.append(Sequential(Linear(in_features, inner, bias=False, **factory),
                Linear(inner, high - low, bias=False, **factory)))

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
