"""Multi-head attention as one function, and other functions of ``nn.functional`` that are made of whole operators."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.storageless import zeros_if_storageless
from ..functions.composites.subgraph_node import wrap_in_node
from ..functions.places import PLACES
from ..graph.modes import RECORD, SILENT, modes
from ..graph.node import next_sequence
from ..ops import alignments  # noqa: F401  declares operators
from ..ops.loss import checked
from ..tensor import Tensor, classes
from ..tensor.autograd_meta import requires_grad
from ..tensor.functions import function
from ..tensor.namespaces import ARRAY_OPS


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _float_mask(mask: Any, like: Any) -> Any:
    """A boolean mask (True: hidden) as numbers to add."""
    if mask is None or mask.is_floating_point():
        return mask
    a = np.zeros(mask.shape, like._wg_data.dtype)
    a[mask._wg_data] = -np.inf
    return Tensor._wg_wrap(a)


def _check_dimensions(query: Any, key: Any, value: Any, padding: Any, mask: Any, num_heads: int) -> None:
    """Refuse keys, values and masks that have not the dimensions which belong to those of the query."""
    n = query.dim()
    _need(n in (2, 3), f"query should be unbatched 2D or batched 3D tensor but received {n}-D query tensor")
    what = "batched (3-D)" if n == 3 else "unbatched (2-D)"
    _need(key.dim() == n and value.dim() == n,
        f"For {what} `query`, expected `key` and `value` to be {n}-D but found {key.dim()}-D and {value.dim()}-D "
        "tensors respectively")
    if padding is not None:
        found = f"but found {padding.dim()}-D tensor instead"
        _need(padding.dim() == n - 1,
            f"For {what} `query`, expected `key_padding_mask` to be `None` or {n - 1}-D {found}")
        _need(padding.is_floating_point() or padding.dtype is dt.bool_,
            "only bool and floating types of key_padding_mask are supported")
    if mask is not None:
        _need(mask.dim() in (2, 3), f"For {what} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
            f"{mask.dim()}-D tensor instead")
        if n == 2 and mask.dim() == 3:
            shape = (num_heads, query.shape[0], key.shape[0])
            _need(tuple(mask.shape) == shape, f"Expected `attn_mask` shape to be {shape} but got {mask.shape}")


def _projected(linear: Any, query: Tensor, key: Tensor, value: Tensor, weight: Any, bias: Any) -> Any:
    """The three projections, by as few products as there are different inputs."""
    _need(weight is not None, "use_separate_proj_weight is False but in_proj_weight is None")
    _need(key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}")
    width = query.shape[-1]
    if key is not value:
        ws, bs = weight.chunk(3), (None,) * 3 if bias is None else bias.chunk(3)
        return tuple(linear(x, w, b) for x, w, b in zip((query, key, value), ws, bs))
    if query is key:
        return _apart(linear(query, weight, bias), 3, width)
    (first, others), (b, bs) = (weight.split([width, 2 * width]),
        (None, None) if bias is None else bias.split([width, 2 * width]))
    return linear(query, first, b), *_apart(linear(key, others, bs), 2, width)


def _by_weights(linear: Any, inputs: Any, weights: Any, bias: Any) -> Any:
    """The three projections, each by a weight of its own."""
    _need(all(w is not None for w in weights), "use_separate_proj_weight is True but q_proj_weight is None")
    bs = (None,) * 3 if bias is None else bias.chunk(3)
    return tuple(linear(x, w, b) for x, w, b in zip(inputs, weights, bs))


def _apart(x: Tensor, parts: int, width: int) -> list[Tensor]:
    """Projections that were made side by side, each in memory of its own."""
    found = x.unflatten(-1, (parts, width)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
    return [found[i] for i in range(parts)]


def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int,
        in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None,
        add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor, out_proj_bias: Tensor | None,
        training: bool = True, key_padding_mask: Tensor | None = None, need_weights: bool = True,
        attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None,
        k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None, static_k: Tensor | None = None,
        static_v: Tensor | None = None, average_attn_weights: bool = True,
        is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads: project, attend, project. Vaswani et al., 2017.

    Shapes: ``query (L, N, E)``, ``key (S, N, E_k)``, ``value (S, N, E_v)``; ``N`` may be left out of all three.
    """
    batched = query.dim() == 3
    _check_dimensions(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = (t.unsqueeze(1) for t in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    _need(width == embed_dim_to_check, f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}")
    head = width // num_heads
    _need(head * num_heads == width, f"embed_dim {width} not divisible by num_heads {num_heads}")
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask.")
    linear = PLACES["functional"]["linear"]
    if use_separate_proj_weight:
        q, k, v = _by_weights(linear, (query, key, value), (q_proj_weight, k_proj_weight, v_proj_weight), in_proj_bias)
    else:
        given = (in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias)
        if not (need_weights or key is not value or key_padding_mask is not None or (training and dropout_p)
                or add_zero_attn) and _is_unseen((query, key, *given), attn_mask, (bias_k, bias_v, static_k, static_v)):
            out = _attended_unseen(query, key, given, attn_mask, num_heads)
            return (out if batched else out.squeeze(1)), None
        q, k, v = _projected(linear, query, key, value, in_proj_weight, in_proj_bias)
    mask, padding = _float_mask(attn_mask, q), _float_mask(key_padding_mask, q)
    if mask is not None:
        mask = _of_three_dimensions(mask, batch * num_heads, length, key.shape[0])
    if bias_k is not None and bias_v is not None:
        k, v = function("cat")([k, bias_k.repeat(1, batch, 1)]), function("cat")([v, bias_v.repeat(1, batch, 1)])
        mask, padding = _one_more_key(mask), _one_more_key(padding)
    q = q.view(length, batch * num_heads, head).transpose(0, 1)
    k = k.view(k.shape[0], batch * num_heads, head).transpose(0, 1) if static_k is None else static_k
    v = v.view(v.shape[0], batch * num_heads, head).transpose(0, 1) if static_v is None else static_v
    if add_zero_attn:
        zero = Tensor._wg_wrap(np.zeros((batch * num_heads, 1, head), k._wg_data.dtype))
        k, v = function("cat")([k, zero], 1), function("cat")([v, zero], 1)
        mask, padding = _one_more_key(mask), _one_more_key(padding)
    if padding is not None:
        hidden = _for_each_head(padding, batch, num_heads, k.shape[1])
        mask = hidden if mask is None else mask + hidden
    p, found = dropout_p if training else 0.0, None
    if need_weights:
        out, found = _attended(q, k, v, mask, p)
        found = found.view(batch, num_heads, length, k.shape[1])
        found = found.mean(1) if average_attn_weights else found
        found = found if batched else found.squeeze(0)
    else:
        out = _attended_at_once(q, k, v, mask, p, num_heads)
    out = linear(out.reshape(length * batch, width), out_proj_weight, out_proj_bias).view(length, batch, -1)
    return (out if batched else out.squeeze(1)), found


def _is_unseen(tensors: tuple[Any, ...], mask: Any, others: tuple[Any, ...]) -> bool:
    """Whether nothing records or watches a call with these tensors, which are plain and of one type of numbers, and
    without ``others``.
    """
    if modes() is not SILENT or tensors[2] is None or any(t is not None for t in others):
        return False
    rows: list[Any] = []
    for t in tensors:
        if t is None:
            continue
        a = t._wg_data if type(t) in classes.PLAIN else None
        if type(a) is not np.ndarray or a.dtype.char not in "fd" or not a.size:
            return False
        rows.append(a)
    if mask is not None and (type(mask) not in classes.PLAIN or type(mask._wg_data) is not np.ndarray
            or mask._wg_data.dtype not in (np.bool_, rows[0].dtype)):
        return False
    return len({a.dtype for a in rows}) == 1


def _broad(mask: Any, like: Any, batch: int, num_heads: int, source: int) -> Any:
    """A mask as numbers to add to scores ``(N, heads, L, S)``."""
    if mask is None:
        return None
    a = _of_three_dimensions(_float_mask(mask, like), batch * num_heads, like.shape[0], source)._wg_data
    return Tensor._wg_wrap(a[None] if mask.dim() == 2 else a.reshape(batch, num_heads, *a.shape[1:]))


def _attended_unseen(query: Any, key: Any, given: tuple[Any, ...], mask: Any, num_heads: int) -> Any:
    """Attention of which nobody sees a step, by arrays: the heads are read where the projections leave them.

    What lies in memory batch by batch is projected so; the result stays so where PyTorch's module does the same.
    """
    linear = ARRAY_OPS.linear
    arrays: list[Any] = [None if t is None else t._wg_data for t in given]
    weight, bias, *last = arrays
    width = query.shape[2]
    mask = _broad(mask, query, query.shape[1], num_heads, key.shape[0])
    split = [0, 3 * width] if query is key else [0, width, 3 * width]
    heads: list[Any] = []
    by_batch = False
    for x, a, b in zip((key._wg_data, query._wg_data), split[-2::-1], split[:0:-1]):
        by_batch = x.strides[1] > x.strides[0]
        x = x.swapaxes(0, 1) if by_batch else x
        y = linear(x, weight[a:b], None if bias is None else bias[a:b])
        y = y.reshape(*x.shape[:2], (b - a) // width, num_heads, width // num_heads)
        heads[:0] = y.transpose((2, 0, 3, 1, 4) if by_batch else (2, 1, 3, 0, 4))
    out = K.attention(*heads, None if mask is None else mask._wg_data, False, 1.0 / math.sqrt(width // num_heads))
    by_batch = by_batch and query is key and mask is None and bias is not None and num_heads % 2 == 0
    out = out.transpose((0, 2, 1, 3) if by_batch else (2, 0, 1, 3))
    out = linear(out.reshape(*out.shape[:2], width), *last)
    return Tensor._wg_wrap(out.swapaxes(0, 1) if by_batch else out)


def _of_three_dimensions(mask: Any, heads: int, length: int, source: int) -> Any:
    """A mask ``(L, S)`` or ``(N * heads, L, S)`` with its first dimension."""
    shape = (length, source) if mask.dim() == 2 else (heads, length, source)
    if tuple(mask.shape) != shape:
        raise RuntimeError(f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {shape}.")
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _one_more_key(mask: Any) -> Any:
    """A mask for one key more, which is not hidden."""
    return None if mask is None else PLACES["functional"]["pad"](mask, (0, 1))


def _for_each_head(padding: Any, batch: int, num_heads: int, source: int) -> Any:
    """The mask ``(N, S)`` of keys as one to add to the scores of all heads, ``(N * heads, 1, S)``."""
    for at, (have, wanted) in enumerate(zip(padding.shape, (batch, source))):
        _need(have == wanted, f"Expected key_padded_mask.shape[{at}] to be {wanted}, but got {have}")
    return padding.view(batch, 1, 1, source).expand(-1, num_heads, -1, -1).reshape(batch * num_heads, 1, source)


def _attended(q: Any, k: Any, v: Any, mask: Any, p: float) -> tuple[Any, Any]:
    """Attention in steps, with its weights: ``(L, N * heads, head)`` and ``(N * heads, L, S)``."""
    scaled, turned = q * math.sqrt(1.0 / q.shape[-1]), k.transpose(-2, -1)
    scores = function("bmm")(scaled, turned) if mask is None else function("baddbmm")(mask, scaled, turned)
    found = function("softmax")(scores, -1)
    found = PLACES["functional"]["dropout"](found, p) if p > 0.0 else found
    return function("bmm")(found, v).transpose(0, 1), found


def _attended_at_once(q: Any, k: Any, v: Any, mask: Any, p: float, num_heads: int) -> Any:
    """Attention by one operator, which keeps no weights: ``(L, N, heads, head)``."""
    batch = q.shape[0] // num_heads
    if mask is not None:
        mask = mask.unsqueeze(0) if mask.shape[0] == 1 else mask.view(batch, num_heads, -1, k.shape[1])
    q, k, v = (t.view(batch, num_heads, t.shape[1], t.shape[2]) for t in (q, k, v))
    return PLACES["functional"]["scaled_dot_product_attention"](q, k, v, mask, p).permute(2, 0, 1, 3)


def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0, swap: bool = False,
        reduction: str = "mean") -> Tensor:
    """``max(0, d(a, p) - d(a, n) + margin)`` with any distance."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError("The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D "
            "inputs")
    distance = PLACES["functional"]["pairwise_distance"] if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = function("minimum")(far, distance(positive, negative))
    values = function("clamp_min")(near + margin - far, 0)
    return values if reduction == "none" else values.mean() if reduction == "mean" else values.sum()


def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None,
        norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
        per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
        padding_idx: int | None = None) -> Tensor:
    """Sums, means or maxima of bags of rows of ``weight``: ``(bags, d)``."""
    looked_at = (input, offsets, weight) if mode == "max" else (input, offsets)  # whose numbers say what is done
    if any(type(x) is classes.Batched_ for x in looked_at):
        given = (input, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse, per_sample_weights,
            include_last_offset, padding_idx)
        return classes.mapping.each_example(embedding_bag, given, {})  # type: ignore[no-any-return]
    if not weight.is_floating_point() and input.is_floating_point():
        warnings.warn("Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, "
            "...)` is deprecated, and should now be `embedding_bag(input, weight, ...)`.", stacklevel=2)
        weight, input = input, weight
    _check_bags(input, weight, offsets, mode, scale_grad_by_freq, sparse, per_sample_weights, padding_idx)
    each, factors = input.shape[-1], per_sample_weights
    alike = input.dim() == 2 and each > 0 and mode != "max" and padding_idx is None and not sparse
    input, starts = _bags(input, offsets, include_last_offset)
    if mode != "max" and max_norm is None:
        found = _unrecorded_bags(input, weight, starts, mode == "mean", factors, padding_idx)
        if found is not None:
            return found
    per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    places = zeros_if_storageless(input._wg_data)
    if places.size and (places.min() < 0 or places.max() >= weight.shape[0]):
        at = int(np.flatnonzero((places < 0) | (places >= weight.shape[0]))[0])
        raise RuntimeError(f"Index {at} of input takes value {int(input._wg_data[at])} which is not in the valid range "
            f"[0, {weight.shape[0]})")
    count = len(starts)
    if alike and not weight.is_meta:
        return _bags_of_one_size(input.reshape(count, each), weight, mode, factors,
            (max_norm, norm_type, scale_grad_by_freq))
    bag = np.searchsorted(starts, np.arange(input.numel()), side="right") - 1
    if weight.is_meta:  # one row for each bag, whatever is in it
        return weight.select(0, 0).expand(count, weight.shape[1]).clone()
    since, differentiable = next_sequence(), (weight, per_sample_weights)
    rows = PLACES["functional"]["embedding"](input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq,
        sparse)
    if padding_idx is not None:
        kept = np.flatnonzero(input._wg_data != padding_idx % weight.shape[0])
        rows, bag = rows.index_select(0, Tensor._wg_wrap(kept)), bag[kept]
        per_sample_weights = (None if per_sample_weights is None
            else per_sample_weights.index_select(0, Tensor._wg_wrap(kept)))
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    zeros = Tensor._wg_wrap(np.zeros((count, weight.shape[1]), weight._wg_data.dtype))
    if mode == "max":
        places, filled = _maxima(rows._wg_data, bag, count)
        if not rows.shape[0]:
            return zeros
        out = function("where")(Tensor._wg_wrap(filled), rows.gather(0, Tensor._wg_wrap(places)), zeros)
    else:
        out = zeros.index_add(0, Tensor._wg_wrap(bag), rows)
    if mode == "mean":
        sizes = np.maximum(np.bincount(bag, minlength=count), 1).astype(weight._wg_data.dtype)
        out = out / Tensor._wg_wrap(sizes[:, None])
    wrap_in_node(out, "EmbeddingBagBackward0", differentiable, since)
    return out


def _is_unrecorded(weight: Any) -> bool:
    """Whether nothing but the result of a function of ``weight`` is asked for."""
    m = modes()
    return (type(weight._wg_data) is np.ndarray
        and (m is SILENT or ((m is RECORD or m.quick) and not (m.grad and requires_grad(weight)))))


def _unrecorded_bags(input: Any, weight: Any, starts: Any, average: bool, factors: Any, padding_idx: Any) -> Any:
    """Sums or means of bags in one pass; None where their gradient may be asked for, or an index is outside."""
    if not _is_unrecorded(weight) or input._wg_data.dtype.kind != "i":
        return None
    if factors is not None and not (_is_unrecorded(factors) and factors.dtype == weight.dtype):
        return None
    skipped = None if padding_idx is None else padding_idx % len(weight)
    found = K.bags(weight._wg_data, input._wg_data, starts, average, None if factors is None else factors._wg_data,
        skipped)
    return None if found is None else Tensor._wg_wrap(found)


def _bags_of_one_size(input: Any, weight: Any, mode: str, factors: Any, settings: tuple[Any, ...]) -> Any:
    """``embedding_bag`` of rows of indices, none of which is left out: a sum or a mean."""
    since = next_sequence()
    rows = PLACES["functional"]["embedding"](input, weight, None, *settings)
    rows = rows if factors is None else rows * factors.unsqueeze(2)
    out = rows.mean(1) if mode == "mean" else rows.sum(1)
    wrap_in_node(out, "EmbeddingBagBackward0", (weight, factors), since)
    return out


def _check_bags(input: Any, weight: Any, offsets: Any, mode: str, by_frequency: bool, sparse: bool, factors: Any,
        padding_idx: int | None) -> None:
    """Refuse arguments of ``embedding_bag`` that do not go together."""
    if factors is not None and input.shape != factors.shape:
        raise ValueError(f"embedding_bag: If per_sample_weights ({factors.shape}) is not None, then it must have the "
            f"same shape as the input ({input.shape})")
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 2 and offsets is not None:
        raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed "
            "length sequences. However, found offsets of type Tensor")
    if input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        if offsets._wg_data.dtype.char not in "lqi":
            raise RuntimeError("Expected tensor for argument #1 'indices' to have one of the following scalar types: "
                f"Long, Int; but got {offsets.type()} instead (while checking arguments for embedding_bag)")
        if offsets.numel() and (last := int(offsets._wg_data[-1])) > input.shape[0]:
            raise RuntimeError(f"offsets[-1] can not be greater than input's length {input.shape[0]} but got "
                f"offsets[-1] of {last}")
    elif input.dim() != 2:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if padding_idx is not None and not -weight.shape[0] <= padding_idx < weight.shape[0]:
        n = weight.shape[0]
        raise RuntimeError(f"padding_idx must be within the number of embeddings, {-n} through {n - 1}, but got "
            f"{padding_idx}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and by_frequency:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if factors is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only "
            f"supported for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub.")


def _bags(input: Any, offsets: Any, include_last_offset: bool) -> tuple[Any, np.ndarray]:
    """The indices in one row, and where each bag begins."""
    if input.dim() == 2:
        count, each = input.shape
        return input.reshape(-1), np.arange(count) * each
    starts = offsets._wg_data[:-1] if include_last_offset else offsets._wg_data
    if len(starts) and starts[0] != 0:
        raise RuntimeError("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
            f"position 0. However, got {int(starts[0])}")
    return input, starts


def _maxima(rows: np.ndarray, bag: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """For each bag the row numbers of its largest entries ``(count, d)``, and whether it has any ``(count, 1)``."""
    sizes = np.bincount(bag, minlength=count)
    starts = np.cumsum(sizes) - sizes
    each = len(bag) // count if count else 0
    if each and np.all(sizes == each):
        places = K.extreme(rows.reshape(count, each, rows.shape[1]), 1, False, False)[1]
        return starts[:, None] + places, np.ones((count, 1), bool)
    table = np.full((count, max(int(sizes.max(initial=0)), 1), rows.shape[1]), -np.inf, rows.dtype)
    table[bag, np.arange(len(bag)) - starts[bag]] = rows
    places = np.minimum(starts[:, None] + table.argmax(1), max(len(bag) - 1, 0))
    return places, (sizes > 0)[:, None]


def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
        reduction: str = "mean", zero_infinity: bool = False) -> Tensor:
    """Connectionist temporal classification: minus the log-probability of all alignments. Graves et al., 2006.

    Shapes: ``log_probs (T, N, C)`` or ``(T, C)``; ``targets (N, S)`` or all targets in one row.
    """
    if (classes.mapping is not None
            and classes.mapping.holds_batched((log_probs, targets, input_lengths, target_lengths))):
        given = (log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)
        return classes.mapping.each_example(ctc_loss, given, {})  # type: ignore[no-any-return]
    checked(reduction)
    single = log_probs.dim() == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
    lengths, sizes = _lengths("input_lengths", input_lengths), _lengths("target_lengths", target_lengths)
    _check_alignments(log_probs, targets, lengths, sizes, blank)
    loss = function("_ctc_loss")(log_probs, targets, lengths, sizes, blank, bool(zero_infinity))
    if zero_infinity:
        loss = function("where")(loss == np.inf, Tensor._wg_wrap(np.zeros((), loss._wg_data.dtype)), loss)
    if reduction == "none":
        return loss.squeeze(0) if single else loss
    if reduction == "sum":
        return loss.sum()
    return (loss / Tensor._wg_wrap(np.array([n or 1 for n in sizes], loss._wg_data.dtype))).mean()


def _lengths(name: str, given: Any) -> tuple[int, ...]:
    if type(given) in (tuple, list) and all(type(n) is int for n in given):
        return tuple(given)
    found = np.atleast_1d(np.asarray(given.tolist() if isinstance(given, Tensor) else given))
    if found.size and found.dtype.kind not in "iu":
        raise RuntimeError(f"{name} must be integral")
    return tuple(found.tolist())


def _check_alignments(log_probs: Any, targets: Any, lengths: tuple[int, ...], sizes: tuple[int, ...],
        blank: int) -> None:
    """Refuse arguments of ``ctc_loss`` that do not go together."""
    where = " (while checking arguments for ctc_loss_allocate_outputs)"
    if not log_probs.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    if log_probs.dim() != 3:
        raise RuntimeError(f"Expected 3-dimensional tensor, but got {log_probs.dim()}-dimensional tensor for argument "
            f"#1 'log_probs'{where}")
    if targets.dim() not in (1, 2):
        raise RuntimeError(f"Expected 1 to 2 dimensions, but got {targets.dim()}-dimensional tensor for argument #2 "
            f"'targets'{where}")
    steps, batch, kinds = log_probs.shape
    if not 0 <= blank < kinds:
        raise RuntimeError("blank must be in label range")
    for name, found in (("input_lengths", lengths), ("target_lengths", sizes)):
        if len(found) != batch:
            raise RuntimeError(f"{name} must be of size batch_size")
        if min(found) < 0:
            raise RuntimeError(f"Expected {name} to have value at least 0, but got value {min(found)}{where}")
    wanted, size = (sum(sizes) if targets.dim() == 1 else batch), targets.shape[0]
    if size != wanted:
        raise RuntimeError(f"Expected tensor to have size {wanted} at dimension 0, but got size {size} for argument #2 "
            f"'targets'{where}")
    if targets.dim() == 2 and targets.shape[1] < max(sizes):
        raise RuntimeError(f"Expected tensor to have size at least {max(sizes)} at dimension 1, but got size "
            f"{targets.shape[1]} for argument #2 'targets'{where}")
    if max(lengths) > steps:
        raise RuntimeError(f"Expected input_lengths to have value at most {steps}, but got value {max(lengths)}{where}")


def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None,
        weight: Tensor | None = None, reduction: str = "mean", ignore_index: int | None = None,
        label_smoothing: float = 0.0, options: Any = None) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target, ...)``.

    Shapes: ``input (N, E)`` or ``(E,)``, ``linear_weight (C, *rest, E)``. ``options``, which say how PyTorch chunks the
    work, are accepted and change nothing.
    """
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    width, (classes, *rest) = input.shape[-1], linear_weight.shape[:-1]
    if width != linear_weight.shape[-1]:
        raise RuntimeError(f"expected equal input and linear_weight last dimensions (in_features), got {width} and "
            f"{linear_weight.shape[-1]}, respectively")
    if linear_bias is not None and tuple(linear_bias.shape) != (classes, *rest):
        raise RuntimeError(f"expected linear_bias shape {(classes, *rest)}, got {tuple(linear_bias.shape)}")
    if rest and input.dim() == 1:
        raise RuntimeError(f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires "
            f"batched input, (N, {width}), got unbatched input with shape {tuple(input.shape)}")
    shape = (*input.shape[:-1], classes, *rest)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    F = PLACES["functional"]
    logits = F["linear"](input, linear_weight.reshape(-1, width),
        None if linear_bias is None else linear_bias.reshape(-1))
    return F["cross_entropy"](logits.reshape(shape), target, weight=weight, reduction=reduction,
        ignore_index=-100 if ignore_index is None else ignore_index, label_smoothing=label_smoothing)


FUNCTIONS = (multi_head_attention_forward, triplet_margin_with_distance_loss, embedding_bag, ctc_loss,
    linear_cross_entropy)
