"""``nn.functional`` functions with a flag (``inplace``, ``training``) or an implied argument, but no random ones."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..arrays import kernels as K
from ..arrays.dtypes import F32, F64, is_half, scalar_name
from ..arrays.errors import warn
from ..graph.modes import map_levels, modes
from ..ops.activation import _implied
from ..ops.loss import checked, legacy
from ..ops.norm import Fixed, check_types
from ..ops.refusals import unsupported
from ..ops.window_checks import window
from ..tensor import classes
from ..tensor.autograd_meta import requires_grad
from ..tensor.functions import function, inplace_function
from ..tensor.namespaces import TRACED_OPS
from .composites.call import refuse_gradient
from .generators import stream_for
from .overloads import FUNCTIONAL, FUNCTIONS, overload
from .overloads_random import dropout
from .places import described
from .random import by_map

if TYPE_CHECKING:
    from ..tensor.tensor import Tensor


def _with_inplace(name: str, *parameters: str) -> None:
    """``f(input, *parameters, inplace=False)`` from the operator and its in-place form."""
    plain, writing = function(name), inplace_function(name)

    def call(input: Any, *args: Any, inplace: bool = False, **kwargs: Any) -> Tensor:
        if not (args or inplace or kwargs):
            return plain(input)
        if len(args) > len(parameters):
            inplace, args = args[len(parameters)], args[: len(parameters)]
        return (written if inplace else plain)(input, *args, **kwargs)

    def written(input: Any, *args: Any, **kwargs: Any) -> Tensor:
        out = writing(input, *args, **kwargs)
        if name in _SLOPED and out._wg_edge is not None and kwargs.get(parameters[0], args[0] if args else 0) < 0:
            out.grad_fn.register_prehook(partial(_refuse_negative, name))
        return out

    FUNCTIONAL[name] = described(call, name, plain.__doc__)
    FUNCTIONAL[name + "_"] = described(written, name + "_", f"``{name}`` in place.")


_SLOPED = {"leaky_relu": "leakyReLu", "elu": "elu", "celu": "elu"}


def _refuse_negative(name: str, grads: Any) -> NoReturn:
    """Refuse the gradient of an in-place activation that folds: PyTorch's rule sees only the result."""
    raise RuntimeError(f"In-place {_SLOPED[name]} backward calculation is triggered with a negative slope which is not "
        "supported. This is caused by calling in-place forward function with a negative slope, please call "
        "out-of-place version instead.")


for _row in ("relu", "relu6", "selu", "silu", "mish", "hardsigmoid", "hardswish", "hardtanh min_val max_val",
        "leaky_relu negative_slope", "elu alpha", "celu alpha", "threshold threshold value"):
    _with_inplace(*_row.split())
FUNCTIONS |= {name: FUNCTIONAL[name] for name in ("selu_", "celu_", "threshold_")}


def _softmax(name: str) -> None:
    along = function(name)

    def call(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
        return along(input, _implied(name, input.ndim) if dim is None else dim, dtype)

    FUNCTIONAL[name] = described(call, name, along.__doc__)


def _alone(name: str) -> None:
    f = function(name)

    def call(input: Any) -> Tensor:
        return f(input)

    FUNCTIONAL[name] = described(call, name, f.__doc__)


for _name in ("softmax", "log_softmax"):
    _softmax(_name)
for _name in ("tanh", "sigmoid"):
    _alone(_name)


# -- losses -----------------------------------------------------------------------------------------------------------


def _loss(op: str, input: Any, target: Any, reduction: str, *extra: float, weight: Any = None) -> Any:
    """A loss of two tensors of one shape, with PyTorch's warning when the shapes differ."""
    checked(reduction)
    if input._wg_data.shape != target._wg_data.shape:
        warn(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This "
            "will likely lead to incorrect results due to broadcasting. Please ensure they have the same size.")
    if weight is None:
        return function(op)(input, target, reduction, *extra)
    values = function(op)(input, target, "none", *extra) * weight
    if reduction == "mean":
        return values.sum() / weight.expand_as(values).sum()
    return values if reduction == "none" else values.sum()


@overload("functional")
def mse_loss(input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
        weight: Any = None) -> Tensor:
    """Squared error."""
    return _loss("mse_loss", input, target, legacy(size_average, reduce, reduction), weight=weight)


@overload("functional")
def l1_loss(input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
        weight: Any = None) -> Tensor:
    """Absolute error."""
    return _loss("l1_loss", input, target, legacy(size_average, reduce, reduction), weight=weight)


@overload("functional")
def smooth_l1_loss(input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
        beta: float = 1.0) -> Tensor:
    """Squared error below ``beta``, absolute error above. Girshick, 2015."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    reduction = legacy(size_average, reduce, reduction)
    return _loss("smooth_l1", input, target, reduction, beta) if beta else _loss("l1_loss", input, target, reduction)


@overload("functional")
def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Tensor:
    """Squared error below ``delta``, linear above. Huber, 1964."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    return _loss("huber", input, target, reduction, delta, weight=weight)


def _class_shapes(input: Any, target: Any) -> None:
    shape, found = list(input.shape), list(target.shape)
    if len(shape) == 1:
        if len(found) > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target.numel() != 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.numel()}")
        return
    if (found[0] if found else 1) != shape[0]:
        raise ValueError(f"Expected input batch_size ({shape[0]}) to match target batch_size "
            f"({found[0] if found else 1}).")
    if len(shape) == 2 and len(found) != 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if len(shape) == 4 and len(found) != 3:
        raise RuntimeError("only batches of spatial targets supported (3D tensors) but got targets of dimension: "
            f"{len(found)}")
    if found != [shape[0], *shape[2:]]:
        if len(shape) == 4:
            raise RuntimeError(f"size mismatch (got input: {shape} , target: {found}")
        raise RuntimeError(f"Expected target size {[shape[0], *shape[2:]]}, got {found}")


def _is_everyday(input: Any, target: Any, weight: Any) -> bool:
    """Whether scores, their classes and the weights of these are of the most usual kind."""
    if type(input) not in classes.PLAIN or type(target) not in classes.PLAIN:
        return False
    x, labels = input._wg_data, target._wg_data
    d = x.dtype
    if labels.dtype.char != "l" or not (d is F32 or d is F64 or d.kind == "f" or is_half(d)):
        return False
    if weight is None and x.ndim == 2:
        return labels.ndim == 1 and len(labels) == len(x)
    if weight is not None and (type(weight) not in classes.PLAIN or weight.requires_grad
            or weight._wg_data.shape != x.shape[1:2] or weight._wg_data.dtype != x.dtype):
        return False
    return bool(x.ndim > 1 and labels.shape == x.shape[:1] + x.shape[2:])


def _class_loss(op: str, input: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    if input.ndim == 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if input._wg_data.dtype.kind in "iub":
        raise unsupported("log_softmax_lastdim_kernel_impl", input._wg_data.dtype)
    count = input.shape[1 if input.ndim > 1 else 0]
    if weight is not None and (weight.ndim != 1 or weight.numel() != count):
        raise RuntimeError(f"weight tensor should be defined either for all {count} classes or no classes but got "
            f"weight tensor of shape: {list(weight.shape)}")
    _class_shapes(input, target)
    if target._wg_data.dtype.char not in "lqB":
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {scalar_name(target._wg_data.dtype)}")
    if weight is not None:
        refuse_gradient("nll_loss_forward" if input.ndim < 3 else "nll_loss2d_forward", weight=weight)
    if (any(x is not None and (type(x) is classes.Batched_ or x._wg_opaque) for x in (target, weight))
            or type(input) is classes.Batched_):
        mapped = all(type(x) in classes.PLAIN or type(x) is classes.Batched_ for x in (input, target))
        if mapped and weight is None and not modes().dispatch:
            return function(op)(input, target, None, reduction, ignore_index)
        return _mapped_class_loss(op, input, target, weight, reduction, ignore_index)
    w = None if weight is None else weight._wg_data
    labels = target._wg_data
    if input.ndim > 1:
        return function(op)(input, labels, w, reduction, ignore_index)
    found = function(op)(input.unsqueeze(0), labels.reshape(1), w, reduction, ignore_index)
    return found.squeeze(0) if reduction == "none" else found


def _mapped_class_loss(op: str, input: Any, target: Any, weight: Any, reduction: str, ignore_index: int) -> Any:
    """The same in a mapped function, or where classes or weights dispatch: out of operators that handle these cases."""
    if type(weight) is classes.Batched_:
        weight = weight.detach()  # weights of classes have no gradient
    dim = 1 if input.ndim > 1 else 0
    log_p = input if op == "nll" else function("log_softmax")(input, dim)
    if input.ndim == 1:
        target = target.reshape(())
    target = target.long()
    kept = target != ignore_index
    places = function("where")(kept, target, 0)
    picked = -function("gather")(log_p, dim, places.unsqueeze(dim)).squeeze(dim)
    w = None if weight is None else function("where")(kept, weight[places], 0.0)
    values = function("where")(kept, picked if w is None else picked * w, 0.0).to(input.dtype)
    if reduction == "none":
        return values
    return values.sum() if reduction == "sum" else values.sum() / (kept.to(input.dtype) if w is None else w).sum()


@overload("functional")
def nll_loss(input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
        reduce: Any = None, reduction: str = "mean") -> Tensor:
    """Negative log-likelihood of class numbers ``target`` under log-probabilities ``input`` ``(N, C, ...)``."""
    if reduction != "mean" or size_average is not None or reduce is not None:
        reduction = checked(legacy(size_average, reduce, reduction))
    if _is_everyday(input, target, weight):
        w = None if weight is None else weight._wg_data
        return function("nll")(input, target._wg_data, w, reduction, ignore_index)
    return _class_loss("nll", input, target, weight, reduction, ignore_index)


@overload("functional")
def cross_entropy(input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100,
        reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:
    """Cross-entropy between ``softmax(input)`` (classes in dimension 1) and ``target``: class numbers, or
    probabilities.

    >>> logits = torch.tensor([[0.0, 0.0]], requires_grad=True)
    >>> torch.nn.functional.cross_entropy(logits, torch.tensor([1])).item()
    0.6931471824645996
    """
    reduction = checked(legacy(size_average, reduce, reduction))
    if label_smoothing == 0.0 and _is_everyday(input, target, weight):
        w = None if weight is None else weight._wg_data
        return function("cross_entropy_index")(input, target._wg_data, w, reduction, ignore_index)
    if label_smoothing < 0.0 or label_smoothing > 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    if input._wg_data.shape == target._wg_data.shape:
        if target._wg_data.dtype.kind not in "fV":
            raise RuntimeError("Expected floating point type for target with class probabilities, got "
                f"{scalar_name(target._wg_data.dtype)}")
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return function("cross_entropy_soft")(input, target, weight, reduction, label_smoothing)
    if label_smoothing > 0.0:
        return _smoothed(input, target, weight, ignore_index, reduction, label_smoothing)
    return _class_loss("cross_entropy_index", input, target, weight, reduction, ignore_index)


def _smoothed(input: Any, target: Any, weight: Any, ignore_index: int, reduction: str, smoothing: float) -> Any:
    dim = 1 if input.ndim > 1 else 0
    classes = input.shape[dim]
    log_p = function("log_softmax")(input, dim)
    hard = _class_loss("nll", log_p, target, weight, reduction, ignore_index)
    if weight is not None:
        log_p = log_p * (weight.reshape((1, -1) + (1,) * (input.ndim - 2)) if input.ndim > 1 else weight)
    kept = target != ignore_index
    smooth = -log_p.sum(dim) * kept
    if reduction == "mean":
        smooth = smooth.sum() / (kept if weight is None else weight[target * kept] * kept).sum()
    elif reduction == "sum":
        smooth = smooth.sum()
    return (1 - smoothing) * hard + smooth * (smoothing / classes)


# -- normalisations with running statistics ---------------------------------------------------------------------------


@overload("functional")
def batch_norm(input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
        training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """Normalise each channel (dimension 1); while training by the batch, updating the running statistics.

    Ioffe and Szegedy, 2015. The running variance takes the unbiased batch variance.
    """
    if input.ndim < 2:  # nothing to tell channels from samples by: only an empty input gets through
        return input.clone()
    if training:
        size = input.numel() // input.shape[1] if input.shape[1] else 0
        if size == 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.size()}")
        if eps <= 0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    else:
        if running_mean is None or running_var is None:
            missing = "running_mean" if running_mean is None else "running_var"
            raise RuntimeError(f"{missing} must be defined in evaluation mode")
    channels = input.shape[1]
    if not fit_plainly(input, running_mean, running_var, weight, bias):
        refuse_gradient("native_batch_norm", running_mean=running_mean, running_var=running_var)
        mapped = type(input) is classes.Batched_ or input._wg_opaque
        given = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
        for label, p in given.items():
            if p is None:
                continue
            if p.numel() != channels:
                raise RuntimeError(f"{label} should contain {channels} elements not {p.numel()}")
            mapped = mapped or type(p) is classes.Batched_ or p._wg_opaque
        check_types(TRACED_OPS, input, "batch_norm", weight, bias, running_mean, running_var)
        if mapped:
            return _mapped_batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    fixed = None
    if not training:
        mean, var = running_mean._wg_data, running_var._wg_data
        if var.dtype.itemsize == 2 or mean.dtype.itemsize == 2:
            mean, var = (x.astype(np.float32) if x.dtype.itemsize == 2 else x for x in (mean, var))
        fixed = Fixed(mean.copy(), K.channel_rstd(var, eps))
    moments: list[Any] = []
    out = function("batch_norm_channels")(input, weight, bias, fixed, eps, moments)
    if training and running_mean is not None and input.numel():
        count = input.numel() // channels
        batch_mean, batch_var = moments
        _blend(running_mean, batch_mean, momentum, 1.0)
        _blend(running_var, batch_var, momentum, count / max(count - 1, 1))
    return out


def fit_plainly(input: Any, mean: Any, var: Any, weight: Any, bias: Any, channels: tuple[int] | None = None) -> bool:
    """Whether these are plain tensors of one real type, of a number for each channel; statistics without gradients.

    ``channels``: how many; None: those of the input.
    """
    if type(input) not in classes.PLAIN or type(input._wg_data) is not np.ndarray:
        return False
    d, shape = input._wg_data.dtype, input._wg_data.shape[1:2] if channels is None else channels
    if d.kind != "f":
        return False
    for p in (mean, var, weight, bias):
        if p is not None:
            if type(p) not in classes.PLAIN or type(p._wg_data) is not np.ndarray:
                return False
            if p._wg_data.dtype is not d or p._wg_data.shape != shape:
                return False
    return not any(p is not None and p.requires_grad for p in (mean, var))


def _mapped_batch_norm(input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, training: bool,
        momentum: float, eps: float) -> Any:
    """The same in a mapped function, or of tensors that dispatch: out of operators that handle these cases."""
    shape = (1, -1, *[1] * (input.ndim - 2))
    if training:
        running = [r for r in (running_mean, running_var) if r is not None]
        if type(input) is classes.Batched_ and any(type(r) is not classes.Batched_ for r in running):
            raise RuntimeError("Batch norm got a batched tensor as input while the running_mean or running_var, which "
                "will be updated in place, were not batched.\nIf you are using a module and do not need eval mode, "
                "please set `track_running_stats` to be False.If you are using a prebuilt module and do not need eval "
                "mode, please see the functorch website for resources on how to patch your module to work with vmap")
        axes = (0, *range(2, input.ndim))
        count = input.numel() // input.shape[1]
        mean, var = input.mean(axes), input.var(axes, correction=0)
        if running:
            running_mean.mul_(1 - momentum).add_(mean.detach() * momentum)
            running_var.mul_(1 - momentum).add_(var.detach() * (momentum * count / max(count - 1, 1)))
    else:
        mean, var = running_mean, running_var
    out = (input - mean.reshape(shape)) * (var.reshape(shape) + eps).rsqrt()
    if weight is not None:
        out = out * weight.reshape(shape)
    return out if bias is None else out + bias.reshape(shape)


def _blend(running: Any, batch: np.ndarray, momentum: float, factor: float) -> None:
    K.statistics_moved(running._wg_data, batch, momentum, factor)
    running._wg_vc[0] += 1


@overload("torch", "functional")
def instance_norm(input: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
        use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5, cudnn_enabled: bool = True) -> Tensor:
    """Normalise each channel of each sample by itself. Ulyanov et al., 2016."""
    n, c = input.shape[:2]
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
    if (use_input_stats and running_mean is None is running_var and eps > 0 and not input._wg_opaque
            and input.is_contiguous() and fit_plainly(input, None, None, weight, bias)):
        return function("group_norm_over")(input, weight, bias, c, eps)  # each channel is a group
    looked_at = [None if r is None or r._wg_opaque or type(r) is classes.Batched_ else r._wg_data
        for r in (running_mean, running_var)]
    means = [
        None if r is None else r.repeat(n) if a is None else type(input)._wg_wrap(np.tile(a, n))
        for r, a in zip((running_mean, running_var), looked_at)
    ]
    scales = [None if p is None else p.repeat(n) for p in (weight, bias)]
    out = batch_norm(input.reshape(1, n * c, *input.shape[2:]), *means, *scales, use_input_stats, momentum,
        eps).reshape(input.shape)
    for running, repeated, a in zip((running_mean, running_var), means, looked_at):
        if running is not None and repeated is not None and use_input_stats:
            if a is None:
                running.copy_(repeated.reshape(n, c).mean(0))
                continue
            a[...] = repeated._wg_data.reshape(n, c).mean(0)
            running._wg_vc[0] += 1
    return out


# -- embeddings -------------------------------------------------------------------------------------------------------


@overload("functional")
def embedding(input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """Rows of ``weight`` ``(n, d)`` at ``input``: ``(*input.shape, d)``. Row ``padding_idx`` gets no gradient.

    ``sparse``: the gradient of ``weight`` is a sparse tensor, of the rows that were looked up.
    """
    if padding_idx is not None:
        n = weight.shape[0]
        if not -n <= padding_idx < n:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx = padding_idx % n
    if input._wg_data.dtype.char not in "lqi":
        found = ("CPUBoolType" if input._wg_data.dtype.kind == "b"
            else f"torch.{scalar_name(input._wg_data.dtype)}Tensor")
        raise RuntimeError("Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, "
            f"Int; but got {found} instead (while checking arguments for embedding)")
    if weight._wg_data.dtype.kind == "c" and modes().grad and requires_grad(weight):
        raise RuntimeError("embedding does not support automatic differentiation for outputs with complex dtype.")
    if max_norm is not None:
        if weight.ndim != 2:  # before anything is changed
            raise RuntimeError("'weight' must be 2-D")
        _renormalise(weight, input, max_norm, norm_type)
    if sparse and modes().grad and requires_grad(weight) and not any(
            level.applies_to((weight,)) for level in modes().levels):
        from ..layouts.sparse import look_up

        return look_up(weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq)
    return function("embedding_rows")(weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq)


def _renormalise(weight: Any, input: Any, max_norm: float, norm_type: float) -> Any:
    """Scale the rows that are looked up down to the norm, in place."""
    scope = modes().grad_scope
    if scope is not None:
        scope.check(weight, "embedding_renorm_")
    if type(weight) is classes.Batched_:
        classes.mapping.each_example(_renormalise, (weight, input, max_norm, norm_type), {})
        return weight
    while type(input) is classes.Batched_:  # the indices of all examples
        input = input.value
    w = weight._wg_data
    for i in np.unique(input._wg_data):
        norm = np.linalg.norm(w[i], norm_type)
        if norm > max_norm:
            w[i] *= max_norm / (float(norm) + 1e-7)
    weight._wg_vc[0] += 1
    return weight


@overload("functional")
def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Sliding windows as columns: ``(N, C, H, W) -> (N, C * kh * kw, L)``."""
    return function("unfold_windows")(input, kernel_size, dilation, padding, stride)


@overload("functional")
def scaled_dot_product_attention(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
        is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False) -> Tensor:
    """``softmax(query key^T / sqrt(d) + mask) value``, ``(..., L, d), (..., S, d), (..., S, v) -> (..., L, v)``."""
    return function("scaled_dot_product_attention")(query, key, value, attn_mask, dropout_p, is_causal, scale,
        enable_gqa, dropout=dropout)


def _fractional(n: int) -> None:
    def indexed(input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
            return_indices: bool = False, _random_samples: Any = None) -> Any:
        if _random_samples is None and map_levels.get():
            return by_map("channels")(indexed)(input, kernel_size, output_size, output_ratio, return_indices)
        if output_size is None and output_ratio is None:
            raise ValueError(f"fractional_max_pool{n}d requires specifying either an output_size or an output_ratio")
        whole = input.ndim == n + 2
        x = input if whole else input.unsqueeze(0)
        space = x.shape[2:]
        if output_size is None:
            ratio = (output_ratio,) * n if isinstance(output_ratio, float) else tuple(output_ratio)
            size = tuple(int(s * r) for s, r in zip(space, ratio))
        else:
            size = window(output_size, n, "output_size")
        kernel = window(kernel_size, n, "kernel_size")
        for s, k, o in zip(space, kernel, size):
            if o + k - 1 > s:
                raise RuntimeError(f"fractional_max_pool{n}d(): pool size ({k}) too large relative to input size ({s})")
        if _random_samples is None:
            samples = stream_for(x).uniform((x.shape[0], x.shape[1], n), x._wg_data.dtype)
        else:
            samples = _random_samples._wg_data[: x.shape[0]]  # an unbatched input takes the first row
        order = samples[..., ::-1] if n == 2 else samples
        values, indices = function("fractional_windows")(x, kernel, size, order)
        return (values, indices) if whole else (values.squeeze(0), indices.squeeze(0))

    def plain(*args: Any, **kwargs: Any) -> Any:
        wanted = kwargs.get("return_indices", args[4] if len(args) > 4 else False)
        found = indexed(*args, **kwargs)
        return found if wanted else found[0]

    for f, name in ((plain, f"fractional_max_pool{n}d"), (indexed, f"fractional_max_pool{n}d_with_indices")):
        FUNCTIONAL[name] = described(f, name, "Maxima of windows placed by random numbers. Graham, 2014.")


for _n in (2, 3):
    _fractional(_n)
