"""Activations: what networks put between their linear layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.errors import as_is, warn
from .errors import common_shape
from .operator import Array, family
from .pointwise import flat_gradient, from_one
from .refusals import floating, only, without
from .views import axis

operator, composite = family("functional", pointwise=True)
function, _ = family("torch", "functional", pointwise=True)
_hidden = dict(places=())
_replayed: dict[str, Any] = dict(whole=("g", "input"), grad="replayed", places=())


@operator(
    grad=dict(grad=lambda F, g, x, kernel, limits: F.pieces(g, x, kernel, limits), x=lambda F, g: flat_gradient(F, g)),
    **_hidden)
def pieces(grad: Array, x: Array, kernel, limits=()):
    """The gradient of a function made of straight pieces: flat in ``x``, and yet it has its history, as in PyTorch."""
    return kernel(grad, x, *limits)


def _in_pieces(name: str, kernel: Any) -> None:
    """Declare the gradient ``kernel(g, x, *limits)`` of a function made of straight pieces."""

    @composite(name=name, raw=kernel, **_hidden)
    def back(F, g, x, *limits):
        return F.pieces(g, x, kernel, limits)


_in_pieces("relu_grad", lambda g, result: K.relu_grad(g, result))
_in_pieces("hardtanh_grad", lambda g, x, low, high: K.hardtanh_grad(g, x, low, high))
_in_pieces("leaky_relu_grad", lambda g, x, slope: K.leaky_relu_grad(g, x, slope))
_in_pieces("threshold_grad", lambda g, x, threshold: K.threshold_grad(g, x, threshold))
for _name in ("hardshrink_grad", "softshrink_grad"):
    _in_pieces(_name, lambda g, x, lambd: K.shrink_grad(g, x, lambd))


def _ordered(input: Any, kind: str, name: str) -> Any:
    """``input``, refused as ``clamp`` and its relatives refuse what has no order, or no sign."""
    without("b", input, f"{kind} inputs not supported for {name}")
    return without("c", input, "clamp is not supported for complex types", NotImplementedError)


@operator(grad=dict(input=lambda F, g, result: F.relu_grad(g, result)), kernel=K.relu, inplace=True,
          places=("torch", "Tensor"))
def relu(input: Array):
    """``max(x, 0)``; the gradient at 0 is 0, and NaN stays NaN.

    >>> torch.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return K.relu(input) if input.dtype.kind in "fV" else np.maximum(_ordered(input, "Boolean", "relu"), 0)


@operator(grad=dict(input=lambda F, g, input: F.hardtanh_grad(g, input, 0, 6)), inplace=True,
          numbered=K.with_numbers(K.hardtanh, lambda: (0, 6)), node="HardtanhBackward0")
def relu6(input: Array):
    """``min(max(x, 0), 6)``."""
    return _within(input, 0, 6)


def _within(input: Any, low: Any, high: Any) -> Any:
    if low > high:
        raise as_is(ValueError("min_val cannot be greater than max_val"))
    if input.dtype.kind in "fV":
        return K.hardtanh(input, low, high, out=K.target(input))
    _ordered(input, "Bool", "hardtanh")
    if input.dtype.kind == "u" and low < 0:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return np.clip(input, input.dtype.type(low), input.dtype.type(high))


@operator(grad=dict(input=lambda F, g, input, min_val, max_val: F.hardtanh_grad(g, input, min_val, max_val)),
          numbered=K.with_numbers(K.hardtanh, lambda low, high: (low, high) if low <= high else None), inplace=True)
def hardtanh(input: Array, min_val=-1.0, max_val=1.0):
    """``x`` kept within [``min_val``, ``max_val``]."""
    return _within(input, min_val, max_val)


@operator(grad=dict(input=lambda F, g, input, negative_slope: F.leaky_relu_grad(g, input, negative_slope)),
          numbered=K.leaky_relu, inplace=True)
def leaky_relu(input: Array, negative_slope=0.01):
    """``x`` where positive, else ``negative_slope * x``."""
    return K.leaky_relu(floating("leaky_relu_cpu", input), negative_slope, out=K.target(input))


def _elu(input: Any, alpha: Any, scale: Any, input_scale: Any) -> Any:
    d = floating("elu_cpu", input).dtype.type
    if input_scale >= 0:
        return K.elu(input, alpha * scale, scale, input_scale, out=K.target(input))
    low = np.expm1(np.minimum(input, 0) * d(input_scale)) * d(alpha * scale)
    return np.where(input > 0, input * d(scale), low).astype(input.dtype, copy=False)


def _elu_grad_raw(g: Any, input: Any, alpha: Any, scale: Any, input_scale: Any) -> Any:
    if input_scale >= 0:
        return K.elu_grad(g, input, alpha * scale, scale, input_scale)
    below = np.exp(np.minimum(input, 0) * input_scale) * (alpha * scale * input_scale)
    return g * np.where(input <= 0, below, scale).astype(g.dtype, copy=False)


@composite(raw=_elu_grad_raw, node="EluBackwardBackward0", **_replayed)
def elu_grad(F, g, input, alpha, scale, input_scale):
    below = F.exp(F.where(input < 0, input, 0.0) * input_scale) * (alpha * scale * input_scale)
    return g * F.where(input <= 0, below, scale)


@operator(grad=dict(input=lambda F, g, input, alpha: F.elu_grad(g, input, alpha, 1.0, 1.0)), inplace=True,
          numbered=K.with_numbers(K.elu, lambda alpha: (alpha, 1.0, 1.0)))
def elu(input: Array, alpha=1.0):
    """``x`` where positive, else ``alpha * (exp(x) - 1)``. Clevert et al., 2015."""
    return _elu(input, alpha, 1.0, 1.0)


# Klambauer et al., "Self-Normalizing Neural Networks" (2017).
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@function(grad=dict(input=lambda F, g, input: F.elu_grad(g, input, _SELU_ALPHA, _SELU_SCALE, 1.0)), inplace=True,
          numbered=K.with_numbers(K.elu, lambda: (_SELU_ALPHA * _SELU_SCALE, _SELU_SCALE, 1.0)), node="EluBackward0")
def selu(input: Array):
    """The self-normalising exponential linear unit."""
    return _elu(input, _SELU_ALPHA, _SELU_SCALE, 1.0)


def _not_zero(alpha: Any) -> Any:
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return alpha


@function(grad=dict(input=lambda F, g, input, alpha: F.elu_grad(g, input, alpha, 1.0, 1.0 / alpha)), inplace=True,
          numbered=K.with_numbers(K.elu, lambda alpha: (alpha, 1.0, 1.0 / alpha) if alpha > 0 else None))
def celu(input: Array, alpha=1.0):
    """``max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)``. Barron, 2017."""
    return _elu(input, alpha, 1.0, 1.0 / _not_zero(alpha))


_SQRT_HALF, _GELU_SCALE = 0.7071067811865476, 0.3989422804014327
_TANH_SCALE, _TANH_CUBIC = 0.7978845608028654, 0.044715


def _gelu_twice(F: Any, g: Any, grad_output: Any, input: Any, approximate: Any) -> Any:
    if F.raw and approximate != "tanh" and type(input) is np.ndarray:
        found = K.gelu_bend(grad_output, input)
        return K.multiply(found, g, found if found.shape == g.shape and found.dtype == g.dtype else None)
    square = input * input
    if approximate == "tanh":
        t = F.tanh(_TANH_SCALE * (input + _TANH_CUBIC * square * input))
        slope = _TANH_SCALE * (1 + 3 * _TANH_CUBIC * square)
        bend = (1 - t * t) * (slope + input * (3 * _TANH_SCALE * _TANH_CUBIC * input - t * slope * slope))
    else:
        bend = F.exp(square * -0.5) * (2 * _GELU_SCALE - square * _GELU_SCALE)
    return g * grad_output * bend


@composite(raw=lambda g, input, approximate: (K.gelu_tanh_grad if approximate == "tanh" else K.gelu_grad)(g, input),
    pointwise=True, node="GeluBackwardBackward0", whole=("g", "input"), **_hidden, grad=dict(
        grad_output=lambda F, g, input, approximate: F.gelu_grad(g, input, approximate), input=_gelu_twice))
def gelu_grad(F, g, input, approximate):
    if approximate == "tanh":
        t = F.tanh(_TANH_SCALE * (input + _TANH_CUBIC * input * input * input))
        slope = _TANH_SCALE * (1 + 3 * _TANH_CUBIC * input * input)
        return g * (0.5 * (1 + t) + 0.5 * input * (1 - t * t) * slope)
    return g * (0.5 * (1 + F.erf(input * _SQRT_HALF)) + input * F.exp(-0.5 * input * input) * _GELU_SCALE)


_GELU = {"none": K.gelu, "tanh": K.gelu_tanh}


@operator(grad=dict(input=lambda F, g, input, approximate: F.gelu_grad(g, input, approximate)))
def gelu(input: Array, *, approximate="none"):
    """``x * Phi(x)``, or its tanh approximation. Hendrycks and Gimpel, 2016."""
    if approximate not in _GELU:
        raise RuntimeError("approximate argument must be either none or tanh.")
    return _GELU[approximate](floating("GeluKernelImpl", input))


@composite(raw=lambda g, input: K.silu_grad(g, input), **_hidden)
def silu_grad(F, g, input):
    s = F.sigmoid(input)
    if F.is_complex(input):
        return g * F.conj(s * (1 + input * from_one(F, s)))
    return g * s * (1 + input * from_one(F, s))


@operator(grad=dict(input=lambda F, g, input: F.silu_grad(g, input)), wirtinger=True, kernel=K.silu, inplace=True)
def silu(input: Array):
    """``x * sigmoid(x)``."""
    return K.silu(only("fVc", "silu_cpu", input))


@composite(raw=lambda g, input: K.mish_grad(g, input), **_hidden)
def mish_grad(F, g, input):
    t, s = F.tanh(F.softplus(input)), F.sigmoid(input)
    return g * (t + input * s * from_one(F, t * t))


@operator(grad=dict(input=lambda F, g, input: F.mish_grad(g, input)), kernel=K.mish, inplace=True)
def mish(input: Array):
    """``x * tanh(softplus(x))``. Misra, 2019."""
    return K.mish(floating("mish_cpu", input))


def _softplus_twice(F: Any, g: Any, grad_output: Any, input: Any, beta: Any, threshold: Any) -> Any:
    s = F.sigmoid(input * beta)
    return F.where(input * beta > threshold, 0.0, g * grad_output * (s * (1 - s) * beta))


@composite(raw=lambda g, input, beta, threshold: K.softplus_grad(g, input, beta, threshold), pointwise=True,
    node="SoftplusBackwardBackward0", whole=("g", "input"), **_hidden, grad=dict(
        grad_output=lambda F, g, input, beta, threshold: F.softplus_grad(g, input, beta, threshold),
        input=_softplus_twice))
def softplus_grad(F, g, input, beta, threshold):
    return g * F.where(input * beta > threshold, 1.0, F.sigmoid(input * beta))


@operator(grad=dict(input=lambda F, g, input, beta, threshold: F.softplus_grad(g, input, beta, threshold)),
          numbered=K.softplus)
def softplus(input: Array, beta=1.0, threshold=20.0):
    """``log(1 + exp(beta * x)) / beta``; ``x`` itself where ``beta * x`` exceeds ``threshold``."""
    return K.softplus(floating("softplus_cpu", input), beta, threshold)


@composite(raw=lambda g, input: K.log_sigmoid_grad(g, input), node="LogSigmoidBackwardBackward0", **_replayed)
def log_sigmoid_grad(F, g, input):
    return g * F.sigmoid(-input)


@operator(grad=dict(input=lambda F, g, input: F.log_sigmoid_grad(g, input)), kernel=K.log_sigmoid,
          node="LogSigmoidBackward0")
def logsigmoid(input: Array):
    """``log(sigmoid(x))``."""
    return K.log_sigmoid(floating("log_sigmoid_cpu", input))


@composite
def softsign(F, input):
    """``x / (1 + |x|)``."""
    return input / (F.abs(input) + 1)


@composite
def tanhshrink(F, input):
    """``x - tanh(x)``."""
    return input - F.tanh(input)


@composite(raw=lambda g, input: K.hardsigmoid_grad(g, input), node="HardsigmoidBackwardBackward0", **_replayed)
def hardsigmoid_grad(F, g, input):
    return g * ((input > -3) & (input < 3)) * (1 / 6)


@operator(grad=dict(input=lambda F, g, input: F.hardsigmoid_grad(g, input)), kernel=K.hardsigmoid, inplace=True)
def hardsigmoid(input: Array):
    """``clamp(x + 3, 0, 6) / 6``."""
    return K.hardsigmoid(floating("hardsigmoid_cpu", input))


@composite(raw=lambda g, input: K.hardswish_grad(g, input), node="HardswishBackwardBackward0", **_replayed)
def hardswish_grad(F, g, input):
    return g * F.where(input <= -3, 0.0, F.where(input < 3, input / 3 + 0.5, 1.0))


@operator(grad=dict(input=lambda F, g, input: F.hardswish_grad(g, input)), kernel=K.hardswish, inplace=True)
def hardswish(input: Array):
    """``x * hardsigmoid(x)``. Howard et al., 2019."""
    return K.hardswish(floating("hardswish_cpu", input))


@operator(grad=dict(input=lambda F, g, input, lambd: F.hardshrink_grad(g, input, lambd)), numbered=K.hardshrink,
    places=("torch", "Tensor", "functional"))
def hardshrink(input: Array, lambd=0.5):
    """``x`` outside [-lambd, lambd], else 0."""
    return K.hardshrink(floating("hardshrink_cpu", input), lambd)


@operator(grad=dict(input=lambda F, g, input, lambd: F.softshrink_grad(g, input, lambd)),
    numbered=K.with_numbers(K.softshrink, lambda lambd: (lambd,) if lambd >= 0 else None))
def softshrink(input: Array, lambd=0.5):
    """``x`` moved towards 0 by ``lambd``, 0 within."""
    _check_not_negative(floating("softshrink_check", input).dtype, lambd)
    return K.softshrink(input, lambd)


def _check_not_negative(d: Any, lambd: float) -> None:
    if lambd < 0:
        raise RuntimeError(f"lambda must be in range [0, {dt.largest(d):g}] for input dtype {dt.scalar_name(d)}, but "
            f"found {lambd:g}")


@operator(grad=dict(input=lambda F, g, input, threshold: F.threshold_grad(g, input, threshold)), inplace=True,
          numbered=K.threshold, places=("torch",))
def threshold(input: Array, threshold, value):
    """``x`` above ``threshold``, else ``value``."""
    limit, instead = _comparable(input, threshold, "threshold"), _comparable(input, value, "value")
    return (_threshold_of_integers if input.dtype.kind in "iu" else K.threshold)(input, limit, instead)


def _threshold_of_integers(x: Any, limit: Any, instead: Any) -> Any:
    return np.where(x <= limit, x.dtype.type(instead), x)


def _comparable(input: Any, x: Any, name: str) -> Any:
    """``x`` as a real number within the reach of the type of ``input``, which is real."""
    only("fViu", "threshold_cpu", input)
    if (input.dtype.kind in "iu" and isinstance(x, float)
            and not np.iinfo(input.dtype).min <= x <= np.iinfo(input.dtype).max):
        raise RuntimeError(f"value cannot be converted to type {input.dtype.name}_t without overflow")
    if not isinstance(x, complex):
        return x
    if x.imag:
        raise RuntimeError(f"{name} cannot be converted to a real type without overflow")
    return x.real


@composite(**_hidden)
def prelu_grad(F, g, input, weight):
    along = F.reshape(weight, _channels(weight.shape, input.ndim))
    return F.kept(g * F.where(input > 0, 1.0, along), True, input, weight)


@composite(**_hidden)
def prelu_weight_grad(F, g, input, weight):
    return F.kept(g * F.clamp(input, max=0.0), True, input, weight)


@operator(
    grad=dict(
        input=lambda F, g, input, weight: F.prelu_grad(g, input, weight),
        weight=lambda F, g, input, weight, weight_shape: F.reshape(
            F.sum_to(F.prelu_weight_grad(g, input, weight), _channels(weight_shape, input.ndim)), weight_shape)),
    places=("torch", "Tensor", "functional"), node="PreluKernelBackward0", pointwise=False)
def prelu(input: Array, weight: Array):
    """``x`` where positive, else ``weight * x`` with one weight for all or one for each channel (dimension 1)."""
    if input.dtype != floating("prelu_cpu", weight).dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {dt.scalar_name(input.dtype)} and "
            f"{dt.scalar_name(weight.dtype)}")
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    if weight.size != 1:
        if input.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.ndim > 1 else 1
        if channels != weight.size:
            raise RuntimeError("Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.size} and channel size = {channels}.")
    return K.leaky_relu(input, weight.reshape(() if weight.size == 1 else _channels(weight.shape, input.ndim)))


def _channels(shape: Any, ndim: int) -> tuple[int, ...]:
    """The shape in which a weight of ``shape`` broadcasts to an input of ``ndim`` dimensions."""
    return () if not shape or not ndim else (shape[0],) if ndim < 2 else (1, shape[0]) + (1,) * (ndim - 2)


def _glu_halves(F: Any, input: Any, dim: int) -> Any:
    half = input.shape[dim] // 2
    return F.narrow(input, dim, 0, half), F.narrow(input, dim, half, half)


def _halves(a: Any, dim: int) -> tuple[Any, Any]:
    before, n = (slice(None),) * axis(dim, a.ndim), a.shape[dim] // 2
    return a[(*before, slice(0, n))], a[(*before, slice(n, None))]


def _glu_grad_raw(g: Any, input: Any, dim: int) -> Any:
    (a, b), out = _halves(input, dim), np.empty_like(input)
    first, second = _halves(out, dim)
    if input.dtype.char in "fd":
        share = K.sigmoid(b)
        K.multiply(g, share, first)
        K.sigmoid_grad(K.multiply(g, a), share, out=second)
    else:  # in float32 to the end
        K.gated(g, b, out=first)
        K.gated_grad(g, a, b, out=second)
    return out


def _glu_twice(F: Any, g: Any, needs: Any, grad_output: Any, input: Any, dim: Any) -> Any:
    (a, b), (u, v) = _glu_halves(F, input, dim), _glu_halves(F, g, dim)
    s = F.sigmoid(b)
    slope = s * from_one(F, s)
    back = u * s + v * a * slope if needs[0] else None
    if not needs[1]:
        return back, None
    flow = grad_output * slope
    return back, F.cat([flow * v, flow * (u + v * a * from_one(F, 2 * s))], dim)


@composite(raw=_glu_grad_raw, node="GluBackwardBackward0", whole=("g", "input"), grad=_glu_twice,
    **_hidden | dict(pointwise=False))
def glu_grad(F, g, input, dim):
    a, b = _glu_halves(F, input, dim)
    s = F.sigmoid(b)
    return F.cat([g * s, g * a * s * from_one(F, s)], dim)


@operator(grad=dict(input=lambda F, g, input, dim: F.glu_grad(g, input, dim)), pointwise=False)
def glu(input: Array, dim=-1):
    """The first half times the sigmoid of the second, along ``dim``. Dauphin et al., 2016."""
    if input.ndim == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    n = floating("glu_cpu", input).shape[axis(dim, input.ndim)]
    if n % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim % input.ndim} is size {n}")
    return K.gated(*_halves(input, dim))


# -- softmax ----------------------------------------------------------------------------------------------------------


def _implied(name: str, ndim: int) -> int:
    warn(f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.")
    return 0 if ndim in (0, 1, 3) else 1


def _normalised(name: str, input: Any, dim: Any, dtype: Any, alone: int) -> Any:
    """``K.name`` along ``dim``; of a single number ``alone``, unless it is not finite."""
    if dtype is None and input.dtype.char in "fd" and type(dim) is int and -input.ndim <= dim < input.ndim:
        return getattr(K, name)(input, dim)
    x = input.astype(dtype) if dtype is not None else floating(f"{name}_lastdim_kernel_impl", input)
    dim = axis(dim, x.ndim)
    return getattr(K, name)(x, dim) if x.ndim else np.where(np.isfinite(x), x.dtype.type(alone), x.dtype.type(np.nan))


def _softmax_twice(F, g, grad_output, result, dim):
    through = grad_output - F.sum(grad_output * result, dim, True)
    return g * through - grad_output * F.sum(g * result, dim, True)


@composite(raw=lambda g, result, dim: K.softmax_grad(g, result, dim), node="SoftmaxBackwardDataBackward0",
    whole=("g", "result"), **_hidden, grad=dict(
        grad_output=lambda F, g, result, dim: F.softmax_grad(g, result, dim), result=_softmax_twice))
def softmax_grad(F, g, result, dim):
    gr = g * result
    return gr - result * F.sum(gr, dim, True)


@operator(grad=dict(input=lambda F, g, result, dim: F.softmax_grad(g, result, dim)), places=("torch", "Tensor"),
    push=lambda F, t, result, dim: F.softmax_grad(t, result, dim), pointwise=False)
def softmax(input: Array, dim, dtype=None):
    """``exp(x) / sum(exp(x))`` along ``dim``.

    >>> torch.softmax(torch.tensor([0.0, 0.0]), 0)
    tensor([0.5000, 0.5000])
    """
    return _normalised("softmax", input, dim, dtype, 1)


@composite(raw=lambda g, result, dim: K.log_softmax_grad(g, result, dim), node="LogSoftmaxBackwardDataBackward0",
    whole=("g", "result"), **_hidden, grad=dict(
        grad_output=lambda F, g, result, dim: g - F.sum(g * F.exp(result), dim, True),
        result=lambda F, g, grad_output, result, dim: -g * F.exp(result) * F.sum(grad_output, dim, True)))
def log_softmax_grad(F, g, result, dim):
    return g - F.exp(result) * F.sum(g, dim, True)


@operator(grad=dict(input=lambda F, g, result, dim: F.log_softmax_grad(g, result, dim)), places=("torch", "Tensor"),
    push=lambda F, t, result, dim: t - F.sum(t * F.exp(result), dim, True), pointwise=False)
def log_softmax(input: Array, dim, dtype=None):
    """``log(softmax(x))`` along ``dim``, without overflow."""
    return _normalised("log_softmax", input, dim, dtype, 0)


@composite
def softmin(F, input, dim=None, _stacklevel=3, dtype=None):
    """``softmax(-x)`` along ``dim``."""
    return F.softmax(-input, _implied("softmin", input.ndim) if dim is None else dim, dtype)


@composite
def normalize(F, input, p=2.0, dim=1, eps=1e-12):
    """``x / max(norm(x, p), eps)`` along ``dim``."""
    return input / F.expand(F.clamp_min(F.linalg_vector_norm(input, p, dim, True), eps), tuple(input.shape))


@operator(grad=dict(input=lambda F, g: g), node="CloneBackward0", pointwise=True, **_hidden)
def raised(input: Array, low):
    """``max(input, low)`` whose gradient is that of ``input`` everywhere."""
    return np.maximum(input, input.dtype.type(low))


@composite(places=("torch", "functional"))
def cosine_similarity(F, x1, x2, dim=1, eps=1e-8):
    """``<x1, x2> / (max(|x1|, eps) max(|x2|, eps))`` along ``dim``."""
    common = dt.promote(F.dtype_of(x1), F.dtype_of(x2))
    if common.kind not in "fcVW":
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {dt.scalar_name(common)}")
    x1, x2 = (x if F.dtype_of(x) == common else F.cast(x, common) for x in (x1, x2))
    if tuple(x1.shape) != tuple(x2.shape):  # ``dim`` counts the dimensions of the broadcast shape
        shape = common_shape(x1.shape, x2.shape)
        along = axis(dim, len(shape)) - len(shape)
        # lengths of what is not repeated, unless the terms are
        x1, x2 = (x if len(x.shape) >= -along and x.shape[along] == shape[along] else F.broadcast_to(x, shape)
            for x in (x1, x2))
        dim = along if shape else dim
    n1, n2 = (F.raised(F.linalg_vector_norm(x, 2, dim, True), eps) for x in (x1, x2))
    return F.sum((x1 / n1) * (x2 / n2), dim)


@composite(places=("torch", "functional"))
def pairwise_distance(F, x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The ``p``-norm of ``x1 - x2 + eps`` along the last dimension."""
    return F.linalg_vector_norm(x1 - x2 + eps, p, -1, keepdim)


def _masked(x: Any, mask: Any, scale: float) -> Any:
    if mask.size < x.size and x.dtype.char in "fd":  # a number for each channel
        return K.multiply(x, mask * x.dtype.type(scale))
    return K.masked_scale(x, mask, scale)


@operator(inplace=True, node="MulBackward0", **_hidden, grad=dict(input=lambda F, g, mask, scale: (
    _masked(g, mask, scale) if F.raw else g * F.constant(mask) * scale)))
def masked_scale(input: Array, mask, scale):
    """``input * mask * scale`` with a constant array ``mask`` that broadcasts: dropout; the mask is kept in bits."""
    return _masked(input, mask, scale)
