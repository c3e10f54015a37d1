"""wengert.tiny: reverse-mode automatic differentiation in one file, to be read from top to bottom.

The forward pass computes numbers and leaves a note at each of them: which operation made it, and from what. The
backward pass follows the notes in reverse, and multiplies by one local derivative at each: the chain rule.

>>> x = Tensor([2.0], requires_grad=True)
>>> y = x * 3 + 1
>>> y._grad_fn, y._grad_fn.next_functions  # y came from a sum, and that from a product
(<AddBackward>, [<MulBackward>])
>>> y.backward()
>>> x.grad
array([3.], dtype=float32)

1. `Tensor`, an array that remembers      4. the rules: one derivative for each input of each operation
2. `Function`, the note that it keeps     5. layers, losses, an optimizer: what a training loop needs
3. the order of the backward pass         6. proof: gradients against differences; the switch

Only NumPy is needed, and nothing of the rest of wengert: copy the file wherever you like. A copy that is run checks its
examples. In formulas L is the loss, and g the gradient that arrives at an operation, ∂L/∂output.
"""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray as Array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_recording = False  # the switch: `enable_autograd` in part 6 turns it on, at the end of this file


# -- 1. A tensor is an array that remembers ---------------------------------------------------------------------------

def _comparison(compare: Callable) -> Callable[[Any, Any], Tensor]:
    """A comparison gives a tensor of bools. It is flat almost everywhere, so it has no gradient and leaves no note."""
    return lambda a, b: Tensor(compare(a.data, b.data if isinstance(b, Tensor) else b), dtype=bool)

class Tensor:
    """Numbers, whether their gradient is wanted, the gradient once it is known, and where they came from.

    `data` and `grad` are NumPy arrays of one shape. `_grad_fn` is the `Function` that made the numbers; None for those
    that you made, the leaves. Numbers are float32, four bytes each, unless `dtype` says otherwise.
    """

    __array_ufunc__ = None  # so that NumPy leaves `array * tensor` to the tensor

    def __init__(self, data: Any, requires_grad: bool = False, dtype: Any = np.float32) -> None:
        self.data: Array = np.array(data, dtype=dtype)
        self.requires_grad = requires_grad
        self.grad: Array | None = None
        self._grad_fn: Function | None = None

    def backward(self, gradient: Any = None) -> None:
        """Add ∂self/∂t, times `gradient`, to `t.grad` for every t that this tensor was computed from.

        A single number needs no `gradient`: it is 1. Several numbers have no gradient, only a weighted sum of them
        has, and `gradient` are the weights. Gradients *add*: those of the next pass to those of the last, which makes
        one large batch of small ones; and within a pass those of all paths to a tensor, as the chain rule says.

        >>> x = Tensor(3.0, requires_grad=True)
        >>> y = x * x
        >>> y.backward(), float(x.grad)  # two paths: 3 + 3
        (None, 6.0)
        >>> y.backward(), float(x.grad)  # on top of it, as nobody called `x.zero_grad()`
        (None, 12.0)
        """
        if not self.requires_grad:
            return
        pending = {id(self): self._seed(gradient)}
        for tensor in reversed(topological_order(self)):
            complete = pending.pop(id(tensor), None)  # all that use this tensor have been visited: nothing is to come
            if complete is not None:
                tensor._accumulate(complete)
                for origin, part in _step_back(tensor, complete):
                    pending[id(origin)] = pending[id(origin)] + part if id(origin) in pending else part

    def backward_recursive(self, gradient: Any = None) -> int:
        """The same gradients by the shortest program. It goes down every *path*, and returns how many visits it made.

        What is used twice is visited twice, and all that it came from, too: n doublings make 2ⁿ paths to one leaf. It
        also ends where Python's stack does, after some hundred operations in a row; `backward` does not.

        >>> def doubled(n):
        ...     y = Tensor(1.0, requires_grad=True)
        ...     for _ in range(n):
        ...         y = y + y
        ...     return y
        >>> [doubled(n).backward_recursive() for n in range(9)]
        [1, 3, 7, 15, 31, 63, 127, 255, 511]
        >>> [len(topological_order(doubled(n))) for n in range(9)]  # the visits of `backward`
        [1, 2, 3, 4, 5, 6, 7, 8, 9]
        """
        if not self.requires_grad:
            return 0
        gradient = self._seed(gradient)
        self._accumulate(gradient)
        return 1 + sum(origin.backward_recursive(part) for origin, part in _step_back(self, gradient))

    def zero_grad(self) -> None:
        """Forget the gradient. None, not zeros: memory is taken when the next one comes."""
        self.grad = None

    def _seed(self, gradient: Any) -> Array:
        if gradient is None and self.size != 1:
            raise ValueError(f"backward() requires gradient for non-scalar tensors; this one has shape {self.shape}")
        return np.broadcast_to(np.asarray(1 if gradient is None else gradient, dtype=self.dtype), self.shape)

    def _accumulate(self, gradient: Array) -> None:
        self.grad = np.array(gradient if self.grad is None else self.grad + gradient)

    # Arithmetic: what computes the numbers, and the rule for their gradients. `3 - x` asks x, as 3 knows no tensors.
    def __add__(self, other: Any) -> Tensor:
        return _pair(np.add, AddBackward, self, other)
    def __sub__(self, other: Any) -> Tensor:
        return _pair(np.subtract, SubBackward, self, other)
    def __rsub__(self, other: Any) -> Tensor:
        return _pair(np.subtract, SubBackward, other, self)
    def __mul__(self, other: Any) -> Tensor:
        return _pair(np.multiply, MulBackward, self, other)
    def __truediv__(self, other: Any) -> Tensor:
        return _pair(np.divide, DivBackward, self, other)
    def __rtruediv__(self, other: Any) -> Tensor:
        return _pair(np.divide, DivBackward, other, self)
    def __pow__(self, other: Any) -> Tensor:
        return _pair(np.power, PowBackward, self, other)
    def __rpow__(self, other: Any) -> Tensor:
        return _pair(np.power, PowBackward, other, self)
    def __matmul__(self, other: Any) -> Tensor:
        return _pair(_product, MatmulBackward, self, other)
    def __rmatmul__(self, other: Any) -> Tensor:
        return _pair(_product, MatmulBackward, other, self)
    __radd__, __rmul__, matmul = __add__, __mul__, __matmul__
    def __neg__(self) -> Tensor:
        return _record(-self.data, NegBackward, self)

    # Reductions over one axis, several or all; with `keepdims` those axes stay, of size one.
    def sum(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _record(self.data.sum(axis, keepdims=keepdims), SumBackward, self, axis, keepdims)
    def mean(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _record(self.data.mean(axis, keepdims=keepdims), MeanBackward, self, axis, keepdims)
    def max(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _record(self.data.max(axis, keepdims=keepdims), MaxBackward, self, axis, keepdims)

    # The same numbers in another shape or order, or some of them.
    def reshape(self, *shape: Any) -> Tensor:
        """`x.reshape(2, 3)` or `x.reshape((2, 3))`; one -1 stands for what is left."""
        sizes = shape if len(shape) != 1 or isinstance(shape[0], int | np.integer) else tuple(shape[0])
        if -1 not in sizes and math.prod(sizes) != self.size:
            raise ValueError(f"Total elements must match: {self.size} ≠ {math.prod(sizes)}, reshaping {self.shape}")
        return _record(self.data.reshape(sizes), ReshapeBackward, self)

    def transpose(self, dim0: int | None = None, dim1: int | None = None) -> Tensor:
        """Swap two axes, the last two if none are named."""
        if (dim0 is None) != (dim1 is None):
            raise ValueError("Both dim0 and dim1 must be specified, or neither")
        if self.data.ndim < 2:
            return self
        dims = (-2, -1) if dim0 is None or dim1 is None else (dim0, dim1)
        return _record(self.data.swapaxes(*dims), TransposeBackward, self, *dims)

    def permute(self, *axes: Any) -> Tensor:
        """Put all axes in a new order: `x.permute(2, 0, 1)`."""
        order = axes if len(axes) != 1 or isinstance(axes[0], int) else tuple(axes[0])
        return _record(self.data.transpose(order), PermuteBackward, self, order)

    def __getitem__(self, key: Any) -> Tensor:
        """`x[0]`, `x[1:, ::2]`, `x[[0, 0, 2]]`, `x[x > 0]`: all that NumPy takes. Numbers in tensors are indices."""
        keys = key if isinstance(key, tuple) else (key,)
        keys = tuple(k.data.astype(bool if k.dtype == bool else int) if isinstance(k, Tensor) else k for k in keys)
        return _record(self.data[keys], SliceBackward, self, keys)

    # The rest looks at the numbers. Nothing of it is recorded.
    __eq__, __ne__ = _comparison(np.equal), _comparison(np.not_equal)  # type: ignore[assignment]
    __lt__, __le__ = _comparison(np.less), _comparison(np.less_equal)
    __gt__, __ge__ = _comparison(np.greater), _comparison(np.greater_equal)
    __hash__ = object.__hash__  # by identity, which a class with `__eq__` has to say
    shape = property(lambda self: self.data.shape)
    size = property(lambda self: self.data.size)
    dtype = property(lambda self: self.data.dtype)
    T = property(transpose)
    def numpy(self) -> Array:
        return self.data
    def item(self) -> Any:
        """The one number, as Python's. Keep this of a loss: the tensor would keep its whole graph alive."""
        return self.data.item()
    def detach(self) -> Tensor:
        """The same numbers without a history: gradients stop here."""
        return Tensor(self.data, dtype=self.dtype)
    __float__ = item
    def __bool__(self) -> bool:
        return bool(self.data)
    def __len__(self) -> int:
        return len(self.data)
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.data, dtype=dtype, copy=copy)
    def __repr__(self) -> str:
        return f"Tensor({self.data}, shape={self.shape}, requires_grad={self.requires_grad}, grad_fn={self._grad_fn})"


# -- 2. What an operation leaves behind -------------------------------------------------------------------------------

class Function:
    """The note of one operation: its inputs, and a rule for the gradient of each.

    Most notes say `rules`, one function (g, *inputs, *settings) -> ∂L/∂input for each input; others define `apply`.
    An operation of your own sets `requires_grad` of its result, and `_grad_fn` to a note of your own.
    """

    rules: Any = ()

    def __init__(self, *tensors: Any) -> None:
        inputs = len(self.rules) or len(tensors)
        # These are the edges of the graph, too. So inputs live as long as the graph does, even where no rule looks at
        # them: this is the memory that training takes.
        self.saved_tensors: Sequence[Any] = tuple(t if isinstance(t, Tensor) else Tensor(t) for t in tensors[:inputs])
        self.settings = [s.data if isinstance(s, Tensor) else s for s in tensors[inputs:]]
        self.next_functions = [t._grad_fn for t in self.saved_tensors if t._grad_fn is not None]

    def apply(self, grad_output: Array) -> Any:
        """From ∂L/∂output a tuple of ∂L/∂input, None where nobody wants it."""
        if not self.rules:
            raise NotImplementedError(f"{type(self).__name__} has neither rules nor apply()")
        arrays = [t.data for t in self.saved_tensors]
        return tuple(_fit(rule(grad_output, *arrays, *self.settings), t) if t.requires_grad else None
            for rule, t in zip(self.rules, self.saved_tensors))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

def _record(data: Any, rule: type[Function], *inputs: Any) -> Tensor:
    """The result of an operation; with a note, if somebody will want a gradient through it."""
    result = Tensor(0.0)
    result.data = np.asarray(data)
    if _recording and any(map(_wants, inputs)):
        result.requires_grad = True
        result._grad_fn = rule(*inputs)
    return result

def _pair(compute: Callable, rule: type[Function], a: Any, b: Any) -> Tensor:
    """An operation on two tensors, or a tensor and numbers, which take its type."""
    dtype = np.result_type(np.float32, *(t.dtype for t in (a, b) if isinstance(t, Tensor)))
    a, b = (t if isinstance(t, Tensor) else Tensor(t, dtype=dtype) for t in (a, b))
    return _record(compute(a.data, b.data), rule, a, b)


# -- 3. The backward pass ---------------------------------------------------------------------------------------------

def topological_order(root: Tensor) -> list[Tensor]:
    """All that `root` was computed from and that wants a gradient, each once, and after everything it came from.

    Depth first, with a stack of our own in place of Python's: a hundred thousand operations in a row are no problem.
    """
    order, seen, stack = [], set(), [(root, False)]
    while stack:
        tensor, origins_are_done = stack.pop()
        if origins_are_done:
            order.append(tensor)
        elif id(tensor) not in seen:
            seen.add(id(tensor))
            stack.append((tensor, True))
            if tensor._grad_fn is not None:
                stack.extend((t, False) for t in tensor._grad_fn.saved_tensors if _wants(t))
    return order

def _step_back(tensor: Tensor, gradient: Array) -> Iterator[tuple[Tensor, Array]]:
    """What `tensor` was computed from, and which part of the gradient goes to each."""
    if tensor._grad_fn is not None:
        parts = tensor._grad_fn.apply(gradient)
        for origin, part in zip(tensor._grad_fn.saved_tensors, parts if isinstance(parts, tuple | list) else (parts,)):
            if _wants(origin) and part is not None:
                yield origin, _fit(part, origin)

def _wants(tensor: Any) -> bool:
    return isinstance(tensor, Tensor) and tensor.requires_grad

def _fit(gradient: Any, tensor: Tensor) -> Array:
    """A gradient in the shape and the type of its tensor. Thanks to this, no rule mentions broadcasting."""
    return np.broadcast_to(_unbroadcast(np.asarray(gradient, dtype=tensor.dtype), tensor.shape), tensor.shape)

def _unbroadcast(gradient: Array, shape: tuple[int, ...]) -> Array:
    """Sum where the forward pass has repeated: a number that was used many times gets the sum of all its gradients.

    NumPy repeats along missing axes in front and along axes of size one. A bias of shape (3,), added to a batch of
    shape (32, 3), was used 32 times:

    >>> _unbroadcast(np.ones((32, 3)), (3,))
    array([32., 32., 32.])
    """
    if gradient.shape == shape:
        return gradient
    gradient = gradient.sum(axis=tuple(range(gradient.ndim - len(shape))))
    return gradient.sum(axis=tuple(i for i in range(-gradient.ndim, 0) if shape[i] == 1), keepdims=True)


# -- 4. The rules: arithmetic -----------------------------------------------------------------------------------------

class AddBackward(Function):
    """z = a + b.  ∂z/∂a = 1, ∂z/∂b = 1: the gradient goes to both as it is."""
    def apply(self, grad_output: Array) -> tuple:
        a, b = self.saved_tensors
        return _fit(grad_output, a), _fit(grad_output, b)

class SubBackward(Function):
    """z = a - b.  ∂z/∂a = 1, ∂z/∂b = -1."""
    rules = (lambda g, a, b: g, lambda g, a, b: -g)

class MulBackward(Function):
    """z = a b.  ∂z/∂a = b, ∂z/∂b = a: each factor needs the other."""
    rules = (lambda g, a, b: g * b, lambda g, a, b: g * a)

class DivBackward(Function):
    """z = a / b.  ∂z/∂a = 1/b, ∂z/∂b = -a/b²."""
    rules = (lambda g, a, b: g / b, lambda g, a, b: -g * a / b**2)

class PowBackward(Function):
    """z = aᵇ.  ∂z/∂a = b aᵇ⁻¹, ∂z/∂b = aᵇ ln a; zero for b = 0 and for a = 0, where this may say 0 · ∞."""
    rules = (lambda g, a, b: g * np.where(b == 0, 0, b * np.where(b == 0, 1, a) ** np.where(b == 0, 1, b - 1)),
        lambda g, a, b: g * np.where(a == 0, 0, a**b * np.log(np.where(a == 0, 1, a))))

class NegBackward(Function):
    """z = -a.  ∂z/∂a = -1."""
    rules = (lambda g, a: -g,)

class MatmulBackward(Function):
    """Z = A B, shapes (n, k) @ (k, m).  ∂L/∂A = G Bᵀ, (n, m) @ (m, k); ∂L/∂B = Aᵀ G, (k, n) @ (n, m).

    One product forward, two of that size backward: where products are all the work, backward takes twice as long.
    """
    def apply(self, grad_output: Array) -> tuple:
        a, b = self.saved_tensors
        g, A, B = grad_output, a.data, b.data
        if B.ndim == 1:  # a vector on the right is a column, and the product has no axis for it
            g, B = g[..., None], B[:, None]
        if A.ndim == 1:  # on the left it is a row
            g, A = g[..., None, :], A[None]
        of_a = _unbroadcast(g @ B.swapaxes(-2, -1), A.shape).reshape(a.shape) if a.requires_grad else None
        of_b = _unbroadcast(A.swapaxes(-2, -1) @ g, B.shape).reshape(b.shape) if b.requires_grad else None
        return of_a, of_b

def _product(a: Array, b: Array) -> Array:
    """A B, of matrices in the last two axes and stacks of them in the others."""
    if a.ndim and b.ndim and a.shape[-1] != b.shape[-2:][0]:
        raise ValueError(f"Cannot perform matrix multiplication: {a.shape} @ {b.shape}. Inner dimensions must match: "
            f"{a.shape[-1]} ≠ {b.shape[-2:][0]}")
    return a @ b


# -- The rules: reductions and shapes ---------------------------------------------------------------------------------

def _repeat(values: Array, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    """Give reduced values their axes back, and repeat them along these."""
    return np.broadcast_to(values if axis is None or keepdims else np.expand_dims(values, axis), x.shape)

def _of_largest(g: Array, x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    largest = x == x.max(axis, keepdims=True)
    return _repeat(g, x, axis, keepdims) * largest / largest.sum(axis, keepdims=True)

def _of_part(g: Array, x: Array, key: Any) -> Array:
    gradient = np.zeros_like(x)
    np.add.at(gradient, key, g)  # `gradient[key] += g` would count repeated indices once
    return gradient

class SumBackward(Function):
    """z = Σ aᵢ.  ∂z/∂aᵢ = 1: the gradient is repeated along the axes that were summed."""
    rules = (_repeat,)

class MeanBackward(Function):
    """z = Σ aᵢ / n.  ∂z/∂aᵢ = 1/n, with n numbers to each mean."""
    rules = (lambda g, a, *axes: _repeat(g, a, *axes) * (np.size(g) / a.size),)

class MaxBackward(Function):
    """z = max aᵢ.  ∂z/∂aᵢ = 1 for the largest, 0 for others; those that tie share it."""
    rules = (_of_largest,)

class ReshapeBackward(Function):
    """The same numbers in another shape: the gradient takes the old one."""
    rules = (lambda g, a, *shape: g.reshape(a.shape),)

class TransposeBackward(Function):
    """Z = Aᵀ.  ∂L/∂A = Gᵀ: the same two axes once more."""
    rules = (lambda g, a, dim0=-2, dim1=-1: g.swapaxes(dim0, dim1),)

class PermuteBackward(Function):
    """The axes in another order. The gradient's go back, to the places that they came from."""
    rules = (lambda g, a, axes: g.transpose(np.argsort(np.arange(a.ndim)[list(axes)])),)

class SliceBackward(Function):
    """z = a[key].  What was taken gets its gradient, once for each time that it was taken; the rest gets zero."""
    rules = (_of_part,)


# -- 5. Layers, and the rules of activations --------------------------------------------------------------------------

class Layer:
    """What a network is made of: `forward` computes, `parameters()` are what learns."""

    def forward(self, *inputs: Any) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} has to define forward()")
    def __call__(self, *inputs: Any, **settings: Any) -> Tensor:
        return self.forward(*inputs, **settings)
    def parameters(self) -> list[Tensor]:
        """The tensors that want a gradient, in this layer and in the layers that it holds."""
        found: dict[Tensor, None] = {}  # in order, each once: one that is used twice is one parameter
        for value in vars(self).values():
            for part in value if isinstance(value, list | tuple) else [value]:
                found |= dict.fromkeys(part.parameters() if isinstance(part, Layer) else filter(_wants, [part]))
        return list(found)
    def zero_grad(self) -> None:
        """Forget the gradients of the last step, before the next ones add to them."""
        for parameter in self.parameters():
            parameter.zero_grad()

class Linear(Layer):
    """y = x W + b, shapes (n, in) @ (in, out) + (out,). Weights are drawn so that y is about as large as x."""
    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        self.weight = Tensor(np.random.randn(in_features, out_features) / math.sqrt(in_features), requires_grad=True)
        self.bias = Tensor(np.zeros(out_features), requires_grad=True) if bias else None
    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight if self.bias is None else x @ self.weight + self.bias

class Sequential(Layer):
    """One layer after the other."""
    def __init__(self, *layers: Any) -> None:
        self.layers = layers[0] if len(layers) == 1 and isinstance(layers[0], list) else layers
    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x

class ReLUBackward(Function):
    """y = max(x, 0).  ∂y/∂x = 1 for x > 0, else 0: a unit that is never above zero does not learn."""
    rules = (lambda g, x: g * (x > 0),)

class ReLU(Layer):
    """max(x, 0)."""
    def forward(self, x: Tensor) -> Tensor:
        return _record(np.maximum(x.data, 0), ReLUBackward, x)

class SigmoidBackward(Function):
    """y = 1 / (1 + e⁻ˣ).  ∂y/∂x = y (1 - y), at most ¼: many in a row leave little. Kept is y, not made anew."""
    rules = (lambda g, x, y: g * y * (1 - y),)

class Sigmoid(Layer):
    """1 / (1 + e⁻ˣ), computed as exp(-ln(1 + e⁻ˣ)), which overflows for no x."""
    def forward(self, x: Tensor) -> Tensor:
        y = np.exp(-np.logaddexp(0, -x.data))
        return _record(y, SigmoidBackward, x, y)

class TanhBackward(Function):
    """y = tanh x.  ∂y/∂x = 1 - y²."""
    rules = (lambda g, x, y: g * (1 - y**2),)

class Tanh(Layer):
    """(eˣ - e⁻ˣ) / (eˣ + e⁻ˣ)."""
    def forward(self, x: Tensor) -> Tensor:
        y = np.tanh(x.data)
        return _record(y, TanhBackward, x, y)

class GELUBackward(Function):
    """y = x Φ(x), with Φ the distribution and φ the density of a normal number.  ∂y/∂x = Φ(x) + x φ(x)."""
    rules = (lambda g, x: g * (_normal(x) + x * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)),)

def _normal(x: Array) -> Array:
    return (1 + np.asarray(np.frompyfunc(math.erf, 1, 1)(x / math.sqrt(2))).astype(x.dtype)) / 2

class GELU(Layer):
    """x Φ(x)."""
    def forward(self, x: Tensor) -> Tensor:
        return _record(x.data * _normal(x.data), GELUBackward, x)

class SoftmaxBackward(Function):
    """yᵢ = exp xᵢ / Σ exp xⱼ.  ∂yᵢ/∂xⱼ = yᵢ ((1 if i = j) - yⱼ), so ∂L/∂x = y (g - Σ gᵢ yᵢ)."""
    rules = (lambda g, x, y, dim=-1: y * (g - (g * y).sum(dim, keepdims=True)),)

def _log_softmax(x: Array, dim: int = -1) -> Array:
    """ln(exp xᵢ / Σ exp xⱼ). All less the largest is the same, and does not overflow, as exp 89 does in float32."""
    shifted = x - x.max(dim, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(dim, keepdims=True))

class Softmax(Layer):
    """Shares that add up to one along an axis."""
    def __init__(self, dim: int = -1) -> None:
        self.dim = dim
    def forward(self, x: Tensor, dim: int | None = None) -> Tensor:
        dim = self.dim if dim is None else dim
        y = np.exp(_log_softmax(x.data, dim))
        return _record(y, SoftmaxBackward, x, y, dim)


# -- Losses and their rules. Targets are data: no gradient goes to them -----------------------------------------------

class MSEBackward(Function):
    """L = mean (p - t)².  ∂L/∂p = 2 (p - t) / n."""
    rules = (lambda g, p, t: g * 2 * (p - t) / np.size(p - t),)

class MSELoss(Layer):
    """mean (p - t)²."""
    def forward(self, predictions: Tensor, targets: Any) -> Tensor:
        p, t = predictions.data, np.asarray(targets, dtype=predictions.dtype)
        return _record(((p - t) ** 2).mean(), MSEBackward, predictions, t)

class BCEBackward(Function):
    """L = -mean (t ln p + (1 - t) ln(1 - p)).  ∂L/∂p = (p - t) / (p (1 - p)) / n."""
    rules = (lambda g, p, t: g * (p - t) / np.maximum(p * (1 - p), 1e-12) / p.size,)

class BinaryCrossEntropyLoss(Layer):
    """-mean (t ln p + (1 - t) ln(1 - p)), for probabilities p; a logarithm counts as -100 at least."""
    def forward(self, predictions: Tensor, targets: Any) -> Tensor:
        p, t = predictions.data, np.asarray(targets, dtype=predictions.dtype)
        with np.errstate(divide="ignore"):
            losses = t * np.maximum(np.log(p), -100) + (1 - t) * np.maximum(np.log1p(-p), -100)
        return _record(-losses.mean(), BCEBackward, predictions, t)

class CrossEntropyBackward(Function):
    """L = -mean ln softmax(x)ₜ, with t the right class.  ∂L/∂x = (softmax(x) - [1 at t]) / n: guess less truth."""
    rules = (lambda g, x, t: g * (np.exp(_log_softmax(x)) - _one_at(t, x.shape[-1])) / np.size(t),)

def _one_at(classes: Any, count: int) -> Array:
    return np.arange(count) == np.expand_dims(classes, -1)

class CrossEntropyLoss(Layer):
    """-mean ln softmax(x)ₜ, for scores x of shape (n, classes), or with more axes in front, and classes t, (n,)."""
    def forward(self, logits: Tensor, targets: Any) -> Tensor:
        classes = np.asarray(targets).astype(int)
        if classes.shape != logits.shape[:-1]:
            raise ValueError(f"targets of shape {logits.shape[:-1]} are needed, not {classes.shape}")
        if ((classes < 0) | (classes >= logits.shape[-1])).any():
            raise IndexError(f"targets must be from 0 to {logits.shape[-1] - 1}: there are so many classes")
        chosen = np.take_along_axis(_log_softmax(logits.data), classes[..., None], axis=-1)
        return _record(-chosen.mean(), CrossEntropyBackward, logits, classes)

class SGD:
    """v ← momentum · v + g + weight_decay · p, then p ← p - lr · v. Call `zero_grad` first: gradients would add up."""
    def __init__(self, params: Any, lr: float = 0.01, momentum: float = 0.0, weight_decay: float = 0.0) -> None:
        self.params = list(params)
        self.lr, self.momentum, self.weight_decay = lr, momentum, weight_decay
        self.velocities = [np.zeros_like(p.data) for p in self.params]
    def zero_grad(self) -> None:
        for parameter in self.params:
            parameter.zero_grad()
    def step(self) -> None:
        """Move every parameter that has a gradient. Its array is replaced, not written over."""
        for i, p in enumerate(self.params):
            if p.grad is not None:
                self.velocities[i] = self.momentum * self.velocities[i] + p.grad + self.weight_decay * p.data
                p.data = p.data - self.lr * self.velocities[i]


# -- 6. Proof, and the switch -----------------------------------------------------------------------------------------

def numerical_gradient(function: Callable[[Tensor], Tensor], x: Tensor) -> Array:
    """∂f/∂xᵢ ≈ (f(x + ε eᵢ) - f(x - ε eᵢ)) / 2ε, one number at a time: slow, but it knows no rule that may be wrong.

    The formula is wrong by about ε², rounding by the last digit over ε. With an ε of a third of the digits, two thirds
    of the digits are right. Float32 has seven, so compare in float64:

    >>> x = Tensor([0.5, 2.0], requires_grad=True, dtype=np.float64)
    >>> f = lambda x: (Sigmoid()(x) / x).sum()
    >>> f(x).backward()
    >>> bool(np.abs(numerical_gradient(f, x) - x.grad).max() < 1e-9)
    True
    """
    step = float(np.finfo(x.dtype).eps) ** (1 / 3)
    gradient = np.zeros_like(x.data)
    for index in np.ndindex(x.shape):
        up, down = x.data.copy(), x.data.copy()
        up[index], down[index] = up[index] + step, down[index] - step
        above, below = (function(Tensor(moved, dtype=x.dtype)).item() for moved in (up, down))
        gradient[index] = (above - below) / (2 * step)
    return gradient

@contextlib.contextmanager
def no_grad() -> Iterator[None]:
    """Within, operations leave no notes. Meant for evaluation; around training it stops all learning, silently."""
    global _recording
    before, _recording = _recording, False
    try:
        yield
    finally:
        _recording = before

def enable_autograd(quiet: bool = False) -> None:
    """From now on operations leave notes. This file switches it on when it is imported; once more does no harm."""
    global _recording
    if not quiet:
        print("autograd is on already" if _recording else "autograd is on: operations leave notes for backward()")
    _recording = True


enable_autograd(quiet=True)

if __name__ == "__main__":
    import doctest

    print(doctest.testmod())
