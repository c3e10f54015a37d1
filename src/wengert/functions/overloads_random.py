"""``nn.functional`` functions that draw: the dropouts, samples of categories, leaky ReLU with random slopes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.devices import alike, on_cpu
from ..arrays.dtypes import scalar_name
from ..arrays.errors import warn
from ..arrays.layouts import kept_strides
from ..arrays.random import masks
from ..graph.modes import modes, no_grad
from ..ops.operator import TABLE
from ..tensor import classes
from ..tensor.functions import function, inplace_function
from .creation import empty_like
from .generators import stream_for
from .overloads import FUNCTIONAL, overload
from .places import described
from .random import by_map, exponential_

if TYPE_CHECKING:
    from ..tensor.tensor import Tensor


def _check_p(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _mask(shape: Any, p: float, like: Any) -> np.ndarray:
    a = like._wg_data
    if a.dtype.kind in "iub":
        raise RuntimeError(f"result type Float can't be cast to the desired output type {scalar_name(a.dtype)}")
    follows = tuple(shape) == a.shape and like.__class__ is not classes.Batched_ and not a.flags.c_contiguous
    if like.is_meta:  # nothing is drawn
        return np.ones((1,) * len(shape), np.bool_)
    def draw() -> np.ndarray:
        return stream_for(like).dropout_mask(tuple(shape), 1.0 - p, kept_strides(a) if follows else None)

    kept = masks.current.get()
    return draw() if kept is None else kept.mask(draw)


@overload("torch", "functional")
def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each element with probability ``p``, scale the others by ``1 / (1 - p)``. Srivastava et al., 2014."""
    _check_p(p)
    if not training or p == 0.0:
        return input
    return _dropped(input, p, inplace) if p < 1.0 else _nothing(input, inplace)


def _form(name: str, inplace: bool) -> Any:
    return inplace_function(name) if inplace else function(name)


def _nothing(input: Any, inplace: bool) -> Any:
    """All of it is dropped: nothing is drawn, and numbers that are not finite stay so."""
    return _form("mul", inplace)(input, input.new_zeros(()))


@by_map("mask")
def _dropped(input: Any, p: float, inplace: bool) -> Any:
    m = modes()
    # in the steps that PyTorch takes
    if m.dispatch and not (m.levels or input.is_meta) and type(input) in classes.PLAIN:
        from ..dispatch.torch_dispatch import ask, aten

        with no_grad():
            noise = empty_like(input).bernoulli_(1.0 - p)
            ask(aten.div_.Scalar, TABLE["div"], True, (noise, 1.0 - p), {}, m)
        return _form("mul", inplace)(input, noise)
    return _scaled(input, _mask(input.shape, p, input), 1.0 / (1.0 - p), inplace)


def _scaled(input: Any, mask: np.ndarray, scale: float, inplace: bool = False) -> Any:
    """``input * mask * scale`` in one step, whose node keeps the bits; saved-tensor hooks see numbers instead."""
    m = modes()
    if m.saved_tensor_hooks is not None and not (m.levels or input.is_meta) and type(input) in classes.PLAIN:
        with no_grad():
            noise = function("masked_scale")(input.new_ones(mask.shape), mask, scale)
        return _form("mul", inplace)(input, noise)
    return _form("masked_scale", inplace)(input, mask, scale)


def _feature_dropout(input: Any, p: float, training: bool, inplace: bool, dims: int) -> Any:
    _check_p(p)
    if not training or p == 0.0:
        return input
    if dims == 3 and input.ndim not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that "
            "dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, "
            "and an optional batch dimension (i.e. 2D or 3D inputs).")
    if p == 1.0:
        return _nothing(input, inplace)
    _check_channels(input)
    return _channels_dropped(input, p, inplace)


def _check_channels(input: Any) -> None:
    if input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")


@by_map("channels")
def _channels_dropped(input: Any, p: float, inplace: bool) -> Any:
    shape = (*input.shape[:2], *([1] * (input.ndim - 2)))
    return _scaled(input, _mask(shape, p, input), 1.0 / (1.0 - p), inplace)


def _feature(name: str, with_batch: int) -> None:
    def call(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        if name == "dropout2d" and input.ndim == 3:
            warn("dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is "
                "desired - input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will "
                "change in a future release to interpret the input as one without a batch dimension, i.e. shape (C, H, "
                "W). To maintain the 1D channel-wise dropout behavior, please switch to using dropout1d instead.")
        elif name != "dropout1d" and input.ndim not in (4, with_batch or 4):
            n = name[-2]
            warn(f"{name}: Received a {input.ndim}-D input to {name}, which is deprecated and will result in an error "
                "in a future release. To retain the behavior and silence this warning, please use dropout instead. "
                f"Note that {name} exists to provide channel-wise dropout on inputs with {n} spatial dimensions, a "
                f"channel dimension, and an optional batch dimension (i.e. {int(n) + 1}D or {int(n) + 2}D inputs).")
        if input.ndim == with_batch - 1 or (name == "dropout3d" and input.ndim != with_batch):  # no batch dimension
            return _feature_dropout(input.unsqueeze(0), p, training, inplace, with_batch).squeeze(0)
        return _feature_dropout(input, p, training, inplace, with_batch)

    FUNCTIONAL[name] = described(call, name, "Dropout of whole channels.")


for _name, _ndim in (("dropout1d", 3), ("dropout2d", 0), ("dropout3d", 5)):
    _feature(_name, _ndim)

_ALPHA_PRIME = -1.7580993408473766


def _alpha(input: Any, p: float, training: bool, inplace: bool, shape: Any) -> Any:
    _check_p(p)
    if not training or p == 0.0:
        return input
    if p == 1.0:
        return input.mul_(0) if inplace else input * 0
    return _alpha_dropped(input, p, inplace, shape)


@by_map("channels")
def _alpha_dropped(input: Any, p: float, inplace: bool, shape: Any) -> Any:
    keep = _mask(shape, p, input)
    a = ((_ALPHA_PRIME**2 * p + 1) * (1 - p)) ** -0.5
    if input.is_meta:
        return function("masked_scale")(input, keep, a)
    numbers = np.where(keep, 0.0, _ALPHA_PRIME * a) - _ALPHA_PRIME * a * p
    shift = type(input)._wg_wrap(alike(numbers.astype(input._wg_data.dtype), input._wg_data))
    return _scaled(input, keep, a, True).add_(shift) if inplace else _scaled(input, keep, a) + shift


@overload("torch", "functional")
def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps the mean and variance of SELU networks. Klambauer et al., 2017."""
    return _alpha(input, p, training, inplace, input.shape)


@overload("torch", "functional")
def feature_alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """``alpha_dropout`` of whole channels."""
    if training and 0.0 < p < 1.0:
        _check_channels(input)
    return _alpha(input, p, training, inplace, (*input.shape[:2], *([1] * (input.ndim - 2))))


@overload("torch")
def feature_dropout(input: Any, p: float, train: bool) -> Tensor:
    """Dropout of whole channels."""
    return _feature_dropout(input, p, train, False, input.ndim)


@overload("functional")
def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A differentiable sample of a categorical distribution. Jang et al., 2016; Maddison et al., 2016."""
    if eps != 1e-10:
        warn("`eps` parameter is deprecated and has no effect.")
    noise = -exponential_(logits.detach().new_empty(logits.shape)).log()
    soft = function("softmax")((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = function("argmax")(soft, dim, True)
    one = logits.detach().new_zeros(logits.shape).scatter_(dim, index, 1.0)
    return one - soft.detach() + soft


@overload("torch", "functional")
@by_map("never")
def rrelu(input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
        inplace: bool = False) -> Tensor:
    """Leaky ReLU with random slopes in [lower, upper] while training, their mean otherwise."""
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training or input.is_meta:
        return FUNCTIONAL["leaky_relu"](input, (lower + upper) / 2, inplace=inplace)
    return _scaled(input, stream_for(input).rrelu_slopes(on_cpu(input._wg_data), lower, upper), 1.0, inplace)


@overload("torch", "functional")
@by_map("never")
def rrelu_(input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """``rrelu`` in place."""
    return rrelu(input, lower, upper, training, inplace=True)
