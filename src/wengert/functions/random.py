"""Random tensors: PyTorch's functions over the streams of ``generators``."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..arrays import dtypes as dt
from ..arrays import kernels as K
from ..arrays.devices import on_cpu
from ..arrays.layouts import blank, layout_like
from ..arrays.random import in_memory_order
from ..graph.modes import RECORD, SILENT, map_levels, modes
from ..ops.errors import broadcast_message
from ..ops.outs import check_memory
from ..tensor import classes
from ..tensor.autograd_meta import requires_grad
from ..tensor.functions import function, inplace_function
from ..tensor.inplace import check_writable
from ..tensor.tensor import Tensor
from ..tensor.types import META
from . import everyday
from .creation import check_sizes, deliver, finish, np_dtype, out_type, refuse_recorded, unmade, write_out
from .devices import placed
from .generators import get_rng_state, initial_seed, manual_seed, seed, set_rng_state, stream_of
from .sizes import sizes_given

# -- in mapped functions ----------------------------------------------------------------------------------------------


def by_map(kind: str) -> Any:
    """Makes a random function follow the ``randomness`` of maps around it; ``kind``: see ``transforms.vmap.random``."""

    def decorate(f: Any) -> Any:
        @functools.wraps(f)
        def random(*args: Any, **kwargs: Any) -> Any:
            if not map_levels.get():
                return f(*args, **kwargs)
            classes.mapping.refuse_out(kwargs.get("out"))
            if kind == "never":
                below = "_with_noise" if modes().grad_scope is not None else ""
                raise RuntimeError(f"vmap: we do not yet support aten::{f.__name__}{below}. Please file an issue")
            return classes.mapping.randomly(f, args, kwargs, kind)

        return random

    return decorate


def _form(name: str, args: Any) -> str:
    """PyTorch's overload of a filling."""
    if name == "random_":
        return ("", ".to", ".from")[len(args)]
    if name == "bernoulli_":
        return ".Tensor" if args and isinstance(args[0], Tensor) else ".float"
    return ""


def _filling(f: Any) -> Any:
    """The same for a method that fills a tensor."""

    @functools.wraps(f)
    def random_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        scope = modes().grad_scope
        if scope is not None:
            scope.check(self, f.__name__ + _form(f.__name__, (*args, *kwargs.values())))
        if not map_levels.get():
            return f(self, *args, **kwargs)
        return classes.mapping.randomly_inplace(f, self, args, kwargs)

    return random_


# -- new tensors ------------------------------------------------------------------------------------------------------


def _made(name: str, draw: Any, generator: Any, sizes: Any, size: Any, out: Any, dtype: Any, device: Any,
        requires_grad: bool) -> Tensor:
    """A tensor of numbers that ``draw(stream, shape, dtype)`` gives."""
    if not sizes and size is None:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    where = placed(device) if out is None else placed(None, out if isinstance(out, Tensor) else None)
    shape = sizes_given(name, sizes, size)
    check_sizes(shape, name)
    stream = stream_of(generator, where)
    if map_levels.get():
        classes.mapping.refuse_out(out)
        return classes.mapping.made(lambda s: finish(draw(stream, s, np_dtype(dtype)), False, where), shape)
    if where is not None and where.type == "meta":
        return finish(unmade(shape, np_dtype(dtype)), requires_grad)
    if out is not None:
        refuse_recorded(out, name)  # before anything is drawn
        return write_out(out, draw(stream, shape, out_type(out, dtype, dt.default_float())), name)
    return finish(draw(stream, shape, np_dtype(dtype)), requires_grad, where)


def rand(*sizes: Any, size: Any = None, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
        device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Uniform numbers in [0, 1)."""
    found = everyday.drawn(everyday.UNIFORM, None, None, generator, sizes, dtype, layout, device, requires_grad, size,
        out, pin_memory, not sizes)
    if found is not NotImplemented:
        return found  # type: ignore[no-any-return]
    return _made("rand", lambda g, s, d: g.uniform(s, d), generator, sizes, size, out, dtype, device, requires_grad)


def randn(*sizes: Any, size: Any = None, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
        device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """Normal numbers with mean 0 and variance 1."""
    found = everyday.drawn(everyday.NORMAL, None, None, generator, sizes, dtype, layout, device, requires_grad, size,
        out, pin_memory, not sizes)
    if found is not NotImplemented:
        return found  # type: ignore[no-any-return]
    return _made("randn", lambda g, s, d: g.normal(s, d), generator, sizes, size, out, dtype, device, requires_grad)


def _limits(row: list[Any], low: Any, high: Any) -> tuple[int, int]:
    """The limits of integers: by name, or the last positional arguments."""
    if high is None:
        high = row.pop()
    if low is None:
        low = row.pop() if row else 0
    return int(low), int(high)


def _whole_type(name: str, dtype: Any, out: Any) -> np.dtype:
    if out is not None:
        refuse_recorded(out, name)
    return np_dtype(dtype, dt.I64 if out is None else out._wg_data.dtype)


def randint(*args: Any, low: Any = None, high: Any = None, size: Any = None, generator: Any = None, out: Any = None,
        dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
        pin_memory: bool = False) -> Tensor:
    """Integers in [low, high): ``randint(high, size)`` or ``randint(low, high, size)``."""
    if 1 < len(args) < 4:
        found = everyday.drawn(everyday.INTEGERS, 0 if len(args) == 2 else args[0], args[-2], generator, args[-1],
            dtype, layout, device, requires_grad, low, high, size, out, pin_memory)
        if found is not NotImplemented:
            return found  # type: ignore[no-any-return]
    row = list(args)
    if len(row) + (size is not None) + (high is not None) < 2:
        kinds = ", ".join(type(a).__name__ for a in args)
        raise TypeError(f"randint() received an invalid combination of arguments - got ({kinds}), but a size and an "
            "upper limit are needed")
    if size is None:
        size = row.pop()
    low, high = _limits(row, low, high)
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    d = _whole_type("randint", dtype, out)
    return _made("randint", lambda g, s, _: g.randint(low, high, s, d), generator, (), size, out, dt.of(d), device,
        requires_grad)


def randperm(n: int, *, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
        device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """The integers below ``n`` in a random order."""
    found = everyday.drawn(everyday.ORDER, None, None, generator, (n,), dtype, layout, device, requires_grad, out,
        pin_memory)
    if found is not NotImplemented:
        return found  # type: ignore[no-any-return]
    d = _whole_type("randperm", dtype, out)
    return _made("randperm", lambda g, s, _: _permutations(s, g, d), generator, (), (int(n),), out, dt.of(d), device,
        requires_grad)


def _permutations(shape: tuple[int, ...], stream: Any, d: np.dtype) -> np.ndarray:
    if len(shape) == 1:
        return stream.randperm(shape[0], d)  # type: ignore[no-any-return]
    found = np.empty(shape, d)
    for at in np.ndindex(*shape[:-1]):
        found[at] = stream.randperm(shape[-1], d)
    return found


def _like(draw: Any, generator: Any, input: Tensor, dtype: Any, device: Any, requires_grad: bool,
        memory_format: Any) -> Tensor:
    """Fill in the order of the memory that ``empty_like`` would give: the input's if it is dense, else row-major."""
    a, d = input._wg_data, np_dtype(dtype, input._wg_data.dtype)
    strides = layout_like(a, memory_format)
    where = placed(device, input)
    stream = stream_of(generator, where)
    if where is not None and where.type == "meta":
        return finish(unmade(a.shape, d, strides), requires_grad)
    if strides is None:
        return finish(draw(stream, a.shape, d, True), requires_grad, where)
    found = in_memory_order(lambda s: draw(stream, s, d, False), a.shape, strides)
    out = blank(a.shape, d, strides)
    out[...] = found
    return finish(out, requires_grad, where)


@by_map("shape")
def rand_like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
        memory_format: Any = None, generator: Any = None) -> Tensor:
    """Uniform numbers in [0, 1) in the shape and type of ``input``."""
    found = everyday.drawn(everyday.UNIFORM, None, None, generator, input, dtype, layout, device, requires_grad,
        memory_format)
    if found is not NotImplemented:
        return found  # type: ignore[no-any-return]
    return _like(lambda g, s, d, _: g.uniform(s, d), generator, input, dtype, device, requires_grad, memory_format)


@by_map("shape")
def randn_like(input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
        memory_format: Any = None, generator: Any = None) -> Tensor:
    """Normal numbers in the shape and type of ``input``."""
    found = everyday.drawn(everyday.NORMAL, None, None, generator, input, dtype, layout, device, requires_grad,
        memory_format)
    if found is not NotImplemented:
        return found  # type: ignore[no-any-return]
    return _like(lambda g, s, d, whole: g.normal(s, d, contiguous=whole), generator, input, dtype, device,
        requires_grad, memory_format)


@by_map("shape")
def randint_like(input: Tensor, *args: Any, low: Any = None, high: Any = None, dtype: Any = None, layout: Any = None,
        device: Any = None, requires_grad: bool = False, memory_format: Any = None, generator: Any = None) -> Tensor:
    """Integers in [low, high) in the shape and type of ``input``."""
    low, high = _limits(list(args), low, high)
    found = everyday.drawn(everyday.INTEGERS, low, high, generator, input, dtype, layout, device, requires_grad,
        memory_format)
    if found is not NotImplemented:
        return found  # type: ignore[no-any-return]
    return _like(lambda g, s, d, _: g.randint(low, high, s, d), generator, input, dtype, device,
        requires_grad, memory_format)


def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: Any = None, out: Any = None,
        dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Normal numbers; ``mean`` and ``std`` are numbers (then ``size`` is needed) or tensors."""
    found = everyday.drawn(everyday.NORMAL, mean, std, generator, size, dtype, layout, device, requires_grad, out)
    if found is not NotImplemented:
        return found  # type: ignore[no-any-return]
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        if size is None:
            kinds = f"({type(mean).__name__}, {type(std).__name__})"
            raise TypeError(f"normal() received an invalid combination of arguments - got {kinds}, but two numbers "
                "need a size")
        if std < 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
        return _made("normal", lambda g, s, d: g.normal(s, d, mean, std), generator, (), size, out, dtype, device,
            requires_grad)
    return _normal_of(mean, std, generator, out=out)


def _noise(generator: Any, near: Tensor, shape: tuple[int, ...], d: Any) -> Any:
    """Standard normal numbers of the stream of the device where ``near`` is."""
    if type(near._wg_data) is np.ndarray:
        quick = everyday.drawn(everyday.NORMAL, None, None, generator, shape, dt.of(d), None, None, False)
        if quick is not NotImplemented:
            return quick._wg_data
    return stream_of(generator, near).normal(shape, d)


@by_map("numbers")
def _normal_of(mean: Any, std: Any, generator: Any, *, out: Any) -> Tensor:
    """Normal numbers with a tensor for their mean, their spread, or both."""
    tensors = [x for x in (mean, std) if isinstance(x, Tensor)]
    if not isinstance(std, Tensor) and std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if any(t.is_meta for t in tensors):
        return (mean + std).detach()
    if isinstance(std, Tensor):
        if std._wg_data.dtype.kind in "cW":
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if not K.within(std._wg_data, 0, np.inf) and bool((std._wg_data < 0).any()):
            raise RuntimeError("normal expects all elements of std >= 0.0")
    shapes = [t._wg_data.shape for t in tensors]
    shape = shapes[0]
    if shape != shapes[-1]:
        message = broadcast_message(shapes)
        if message is not None:
            raise RuntimeError(message)
        shape = np.broadcast_shapes(*shapes)
    d = dt.result([t._wg_data for t in tensors]) if out is None else out._wg_data.dtype
    mean, std = (on_cpu(x._wg_data) if isinstance(x, Tensor) else x for x in (mean, std))
    noise = _noise(generator, tensors[0], shape, d)
    found, where = np.asarray(noise * std + mean).astype(d, copy=False), placed(None, tensors[0])
    if out is not None or not any(t.requires_grad for t in tensors):
        return deliver(found, out, "normal", False, where)
    return function("drawn_from_two" if len(tensors) == 2 else "drawn_from")(*tensors, found)


@by_map("numbers")
def bernoulli(input: Tensor, p: Any = None, *, generator: Any = None, out: Any = None) -> Tensor:
    """One with probability ``input`` (or ``p``) for each element, else zero."""
    if p is None and out is None and (quick := everyday.chosen(input, generator)) is not NotImplemented:
        return quick  # type: ignore[no-any-return]
    s = stream_of(generator, input)
    a = on_cpu(input._wg_data)
    if input.is_meta:
        return _without_gradient(finish(a, False, META), input)
    found = s.bernoulli_array(a) if p is None else s.bernoulli(a.shape, float(p), a.dtype)
    if out is not None:
        if out._wg_vc is input._wg_vc:
            check_memory(SimpleNamespace(name="bernoulli"), out._wg_data, [input._wg_data])
        return write_out(out, found, "bernoulli")
    return _without_gradient(finish(np.asarray(found), False, placed(None, input)), input)


def _without_gradient(t: Tensor, source: Tensor) -> Tensor:
    """PyTorch lets random results that depend on ``source`` carry a (zero) gradient."""
    return function("drawn_from")(source, t._wg_data) if requires_grad(source) else t


@by_map("rows")
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None,
        out: Any = None) -> Tensor:
    """Indices drawn with probabilities proportional to the rows of ``input``, ``(..., n) -> (..., num_samples)``."""
    if out is not None and out._wg_data.dtype != np.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {dt.scalar_name(out._wg_data.dtype)}")
    if input.is_meta:
        return finish(unmade((*input.shape[:-1], int(num_samples)), dt.I64))
    found = stream_of(generator, input).multinomial(on_cpu(input._wg_data), int(num_samples), replacement)
    return deliver(found, out, "multinomial", False, placed(None, input))


@by_map("numbers")
def poisson(input: Tensor, generator: Any = None) -> Tensor:
    """Poisson numbers with rates ``input``."""
    found = (finish(input._wg_data, False, META) if input.is_meta
        else _drawn(input, stream_of(generator, input).poisson(on_cpu(input._wg_data))))
    return _without_gradient(found, input)


@by_map("numbers")
def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    drawn = stream_of(generator, input).standard_gamma(on_cpu(input._wg_data))
    return _with_derivative("drawn_gamma", _drawn(input, drawn), input)


@by_map("numbers")
def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    drawn = stream_of(generator, input).dirichlet(on_cpu(input._wg_data))
    return _with_derivative("drawn_shares", _drawn(input, drawn), input)


def _drawn(like: Tensor, numbers: Any) -> Tensor:
    """Random numbers as a tensor on the device of ``like``."""
    return finish(numbers, False, placed(None, like))


def _with_derivative(name: str, numbers: Tensor, source: Tensor) -> Tensor:
    """Random numbers that move with the parameters ``source``, as the operator ``name`` has it."""
    if not requires_grad(source):
        return numbers
    from ..ops import pathwise  # noqa: F401  declares the operator; seldom needed

    return function(name)(source, numbers._wg_data)


@by_map("numbers")
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Binomial numbers of ``count`` trials with probability ``prob``."""
    drawn = _drawn(count, stream_of(generator, count).binomial(on_cpu(count._wg_data), on_cpu(prob._wg_data)))
    return _with_derivative("drawn_counts", drawn, prob if requires_grad(prob) else count)


# -- in place ---------------------------------------------------------------------------------------------------------


def _filled(t: Tensor, draw: Any) -> Tensor:
    """Check first, so that a refused write draws nothing; then fill in the order of memory."""
    m = modes()
    check_writable(t, m.grad and requires_grad(t), m)
    a = t._wg_data
    if t.is_meta:
        return inplace_function("zero")(t)
    return inplace_function("assign")(t, in_memory_order(draw, a.shape, a.strides))


def _at_once(t: Tensor) -> bool:
    """Whether the memory of a plain tensor may be drawn into: no history is concerned, and it is in order."""
    m, a = modes(), t._wg_data
    return ((m is SILENT or (m is RECORD and not requires_grad(t))) and type(t) in classes.PLAIN
        and type(a) is np.ndarray and a.dtype in (dt.F32, dt.F64) and a.flags.carray and type(t._wg_vc) is list)


@_filling
def uniform_(self: Tensor, from_: float = 0.0, to: float = 1.0, *, generator: Any = None, **named: Any) -> Tensor:
    """Fill with uniform numbers in [from, to)."""
    low, high = named.pop("from", named.pop("a", from_)), named.pop("b", to)
    if everyday.draw_in(self, everyday.UNIFORM, low, high, generator):
        return self
    a = self._wg_data
    if _at_once(self):
        stream_of(generator, self).uniform_into(a, float(low), float(high))
        self._wg_vc[0] += 1
        return self
    return _filled(self, lambda s: stream_of(generator, self).uniform(s, a.dtype, float(low), float(high), out=a))


@_filling
def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with normal numbers."""
    if everyday.draw_in(self, everyday.NORMAL, mean, std, generator):
        return self
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    a = self._wg_data
    if _at_once(self):
        stream_of(generator, self).normal_into(a, float(mean), float(std))
        self._wg_vc[0] += 1
        return self
    whole = a.flags.c_contiguous
    return _filled(self,
        lambda s: stream_of(generator, self).normal(s, a.dtype, float(mean), float(std), contiguous=whole, out=a))


@_filling
def random_(self: Tensor, *args: Any, generator: Any = None, **named: Any) -> Tensor:
    """Fill with integers: over the type's range, below ``to``, or in [from, to)."""
    low, high = (named.get("from"), named.get("to")) if not args else (None, args[0]) if len(args) == 1 else args[:2]
    if high is not None and low is None:
        low = 0
    if everyday.draw_in(self, everyday.INTEGERS, low, high, generator):
        return self
    return _filled(self, lambda s: stream_of(generator, self).random(s, self._wg_data.dtype, low, high))


@_filling
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill with ones (probability ``p``, a number or a tensor) and zeros."""
    if everyday.draw_in(self, everyday.TRUTHS, p, 0, generator):
        return self
    s = stream_of(generator, self)
    if isinstance(p, Tensor) and not self.is_meta:
        if self._wg_data.dtype.kind == "c" and self._wg_data.size:
            raise NotImplementedError(
                f'"bernoulli_tensor_cpu_self_" not implemented for \'{dt.scalar_name(self._wg_data.dtype)}\'')
        probabilities = np.broadcast_to(on_cpu(p._wg_data), self._wg_data.shape)
        found = s.bernoulli_array(probabilities, strides=self._wg_data.strides).astype(self._wg_data.dtype)
        return inplace_function("assign")(self, found)
    return _filled(self, lambda shape: s.bernoulli(shape, float(p), self._wg_data.dtype))


@_filling
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with exponential numbers of rate ``lambd``."""
    if everyday.draw_in(self, everyday.WAITS, lambd, 0, generator):
        return self
    return _filled(self, lambda s: stream_of(generator, self).exponential(s, self._wg_data.dtype, float(lambd)))


@_filling
def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Tensor:
    """Fill with Cauchy numbers."""
    if everyday.draw_in(self, everyday.CAUCHY, median, sigma, generator):
        return self
    return _filled(self,
        lambda s: stream_of(generator, self).cauchy(s, self._wg_data.dtype, float(median), float(sigma)))


@_filling
def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Tensor:
    """Fill with log-normal numbers."""
    if everyday.draw_in(self, everyday.LOG_NORMAL, mean, std, generator):
        return self
    return _filled(self,
        lambda s: stream_of(generator, self).log_normal(s, self._wg_data.dtype, float(mean), float(std)))


@_filling
def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """Fill with geometric numbers: trials until the first success."""
    if everyday.draw_in(self, everyday.TRIALS, p, 0, generator):
        return self
    return _filled(self, lambda s: stream_of(generator, self).geometric(s, float(p), self._wg_data.dtype))


FUNCTIONS = {
    f.__name__: f
    for f in (manual_seed, seed, initial_seed, get_rng_state, set_rng_state, rand, randn, randint, randperm, rand_like,
            randn_like, randint_like, normal, bernoulli, multinomial, poisson, binomial, _standard_gamma,
            _sample_dirichlet)
}
METHODS = {
    f.__name__: f
    for f in (uniform_, normal_, random_, bernoulli_, exponential_, cauchy_, log_normal_, geometric_, bernoulli,
        multinomial)
}
