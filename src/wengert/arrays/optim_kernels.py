"""Optimizer updates on raw arrays: the arithmetic of ``wengert.optim``, without tensors, groups or state.

Every ``*_update`` function takes lists that belong together (``params[i]``, ``grads[i]``, the state arrays of parameter
``i``) plus the numbers of one step, and writes parameters and state in place; gradients are only read.

An elementwise family is a *body*: its formula on arrays ``p, g, *state`` of one dtype and shape, with the step's
constants ``c`` and scratch ``s, t``.  One driver, :func:`_run`, goes through the arrays for all of them: large ones by
cache-sized blocks; halves through a float32 copy of each block; complex arrays as twice as many real numbers.  For
small arrays the scratch is None and NumPy allocates: a body goes on with what a call returned, never with what it
passed.  Where the native kernels know the family, one call updates all the arrays instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import kernels as K

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Array = np.ndarray
    Arrays = Sequence[np.ndarray]
    Constants = list[np.ndarray]
    Row = tuple[np.ndarray, ...]
    Scratch = np.ndarray | None

BLOCK = 32768  # elements per block: five float32 arrays of 128 KiB stay in the second-level cache

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_COMPUTE = {"d": _FLOAT64, "D": _FLOAT64}  # by dtype.char: what arithmetic is done in, where it is not float32


# ----------------------------------------------------------------------------------------------- the elementwise driver


@np.errstate(all="ignore")
def _run(body: Callable, columns: Sequence[Arrays], constants: Sequence[float], family: str | None = None, *,
        decay: float = 0.0, shrink: float | None = None, maximize: bool = False) -> None:
    """Apply ``body(c, s, t, p, g, *state)`` to every row of ``columns`` (params, grads, state, ...).

    ``g`` is the gradient, negated to ``maximize``, plus ``decay * p`` (in ``t``, if it is new); before that ``p`` is
    multiplied by ``shrink``. ``family``: that of the native update that does the same.
    """
    sign, decays, shrinks = -1 if maximize else 1, decay != 0, shrink is not None and shrink != 1
    numbers = (sign, decay, *constants) if shrink is None else (sign, decay, shrink, *constants)
    if family is not None and K.optimizer_update(family, columns, numbers):
        return

    def update(c: Constants, s: Scratch, t: Scratch, p: Array, g: Array, *state: Array) -> None:
        if shrinks:
            np.multiply(p, c[2], p)
        if maximize:
            g = np.negative(g, t)
        if decays:
            g = np.add(g, np.multiply(p, c[1], s), t)
        body(c[len(numbers) - len(constants) :], s, t, p, g, *state)

    tables: dict[str, Constants] = {}
    scratch: dict[np.dtype, list[np.ndarray]] = {}
    for row in zip(*columns):
        p, char = row[0], row[0].dtype.char
        c = tables.get(char)
        if c is None:  # zero-dimensional arrays, which NumPy takes at half the price of a Python float
            compute = _COMPUTE.get(char, _FLOAT32)
            c = tables[char] = [np.array(x, compute) for x in numbers]
        if p.size <= BLOCK and p.ndim and char in "fd" and row[1].dtype == p.dtype:
            update(c, None, None, *row)
        else:
            for part in _real_rows(row) if char in "FD" else (row,):
                _walk(update, c, scratch, part)


def _walk(body: Callable, c: Constants, scratch: dict[np.dtype, list[np.ndarray]], row: Row) -> None:
    """Update large arrays block by block: where they are, or in a copy where they are not of the computing dtype."""
    dtype = _COMPUTE.get(row[0].dtype.char, _FLOAT32)
    if dtype not in scratch:
        scratch[dtype] = [np.empty(BLOCK, dtype), np.empty(BLOCK, dtype)]
    direct = all(a.dtype == dtype for a in row)
    contiguous = all(a.flags.c_contiguous for a in row)
    for piece in _pieces(tuple([a.reshape(-1) for a in row]) if contiguous else row):
        n, shape = piece[0].size, piece[0].shape
        s, t = (x[:n] if contiguous else x[:n].reshape(shape) for x in scratch[dtype])
        if direct:
            body(c, s, t, *piece)
            continue
        work = [a.astype(dtype) for a in piece]
        body(c, s, t, *work)
        for i, (a, new) in enumerate(zip(piece, work)):
            if i != 1:  # the gradient is only read
                a[...] = new


def _real_rows(row: Row) -> tuple[Row, ...]:
    """Complex arrays as real ones: interleaved in place where memory is contiguous, else real and imaginary parts."""
    if all(a.flags.c_contiguous for a in row):
        return (tuple([a.reshape(-1).view(a.real.dtype) for a in row]),)
    return tuple([a.real for a in row]), tuple([a.imag for a in row])


def _pieces(row: Row) -> Iterator[Row]:
    """Cut arrays of any layout along their leading axes into rows of at most a block."""
    shape, size = row[0].shape, row[0].size
    if size <= BLOCK:
        yield row
    elif shape[0] == 1:
        yield from _pieces(tuple([a[0] for a in row]))
    else:
        step = max(1, BLOCK * shape[0] // size)
        for i in range(0, shape[0], step):
            yield from _pieces(tuple([a[i : i + step] for a in row]))


def _decay(weight_decay: float, decoupled: bool, lr: float) -> dict[str, float]:
    """Weight decay by way of the gradient, or (``decoupled``) of the parameter, as options of ``_run``."""
    return {"shrink": 1 - lr * weight_decay} if decoupled else {"decay": weight_decay, "shrink": 1.0}


def _lerp(m: Array, g: Array, weight: Array, s: Scratch) -> None:
    """``m += weight * (g - m)``."""
    s = np.subtract(g, m, s)
    np.add(m, np.multiply(s, weight, s), m)


def _decayed_square(v: Array, g: Array, keep: Array, weight: Array, s: Scratch) -> None:
    """``v = keep * v + weight * g * g``."""
    np.multiply(v, keep, v)
    s = np.multiply(g, g, s)
    np.add(v, np.multiply(s, weight, s), v)


def _add_scaled(p: Array, d: Array, scale: Array, s: Scratch) -> None:
    """``p += scale * d``."""
    np.add(p, np.multiply(d, scale, s), p)


def _quotient(m: Array, root: Array, floor: Array) -> Array:
    """``m / (root + floor)``, in the memory of ``root``."""
    return np.divide(m, np.add(root, floor, root), root)


# ------------------------------------------------------------------------------------------------------- the families


def sgd_update(params: Arrays, grads: Arrays, momentum_buffers: Arrays | None = None, *, lr: float,
        momentum: float = 0.0, dampening: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False,
        maximize: bool = False, first: bool = False) -> None:
    """Gradient descent with momentum (Sutskever et al. 2013).  ``first``: the buffers are empty and take the gradient.

    >>> p, g, b = np.array([1.0]), np.array([0.5]), np.array([2.0])
    >>> sgd_update([p], [g], [b], lr=0.1, momentum=0.5); p, b
    (array([0.85]), array([1.5]))
    """

    def body(c: Constants, s: Scratch, t: Scratch, p: Array, g: Array, buf: Array | None = None) -> None:
        rate, keep, share = c
        if buf is not None:
            if first:
                buf[...] = g
            else:
                np.multiply(buf, keep, buf)
                _add_scaled(buf, g, share, s)
            g = np.add(g, np.multiply(buf, keep, s), t) if nesterov else buf
        _add_scaled(p, g, rate, s)

    columns = (params, grads) if momentum_buffers is None else (params, grads, momentum_buffers)
    kind = "" if momentum_buffers is None else ("_first" * first + "_nesterov" * nesterov) or "_momentum"
    _run(body, columns, (-lr, momentum, 1 - dampening), "sgd" + kind, decay=weight_decay, maximize=maximize)


def adam_update(params: Arrays, grads: Arrays, exp_avgs: Arrays, exp_avg_sqs: Arrays,
        max_exp_avg_sqs: Arrays | None = None, *, step: float, lr: float, beta1: float, beta2: float, eps: float,
        weight_decay: float = 0.0, decoupled: bool = False, maximize: bool = False) -> None:
    """Adam (Kingma and Ba 2015), AdamW with ``decoupled`` decay (Loshchilov and Hutter 2019), AMSGrad with maxima.

    ``step`` counts from 1.  The bias correction of the second moment is folded into the step size and into ``eps``:
    ``lr/c1 * m / (sqrt(v)/sqrt(c2) + eps) == lr*sqrt(c2)/c1 * m / (sqrt(v) + eps*sqrt(c2))``.
    """
    root = (1 - beta2**step) ** 0.5
    size = lr / (1 - beta1**step) * root

    def body(c: Constants, s: Scratch, t: Scratch, p: Array, g: Array, m: Array, v: Array,
            top: Array | None = None) -> None:
        w1, b2, w2, floor, move = c
        _lerp(m, g, w1, s)
        _decayed_square(v, g, b2, w2, s)
        if top is not None:
            v = np.maximum(top, v, out=top)
        s = np.sqrt(v, s)
        _add_scaled(p, _quotient(m, s, floor), move, s)

    columns, family = [params, grads, exp_avgs, exp_avg_sqs], "adam"
    if max_exp_avg_sqs is not None:
        columns, family = [*columns, max_exp_avg_sqs], "adam_amsgrad"
    _run(body, columns, (1 - beta1, beta2, 1 - beta2, eps * root, -size), family, maximize=maximize,
        **_decay(weight_decay, decoupled, lr))


def adagrad_update(params: Arrays, grads: Arrays, sums: Arrays, *, step: float, lr: float, lr_decay: float, eps: float,
        weight_decay: float = 0.0, maximize: bool = False) -> None:
    """Adagrad (Duchi, Hazan and Singer 2011).  ``step`` counts from 1."""

    def body(c: Constants, s: Scratch, t: Scratch, p: Array, g: Array, total: Array) -> None:
        floor, move = c
        np.add(total, np.multiply(g, g, s), total)
        s = np.sqrt(total, s)
        _add_scaled(p, _quotient(g, s, floor), move, s)

    _run(body, (params, grads, sums), (eps, -lr / (1 + (step - 1) * lr_decay)), "adagrad", decay=weight_decay,
        maximize=maximize)


def rmsprop_update(params: Arrays, grads: Arrays, square_avgs: Arrays, momentum_buffers: Arrays | None = None,
        grad_avgs: Arrays | None = None, *, lr: float, alpha: float, eps: float, weight_decay: float = 0.0,
        momentum: float = 0.0, maximize: bool = False) -> None:
    """RMSprop (Hinton's lecture 6; Graves 2013 with ``grad_avgs``: the centered variant)."""
    has_momentum, centered = momentum_buffers is not None, grad_avgs is not None

    def body(c: Constants, s: Scratch, t: Scratch, p: Array, g: Array, sq: Array, *rest: Array) -> None:
        keep, share, floor, move, mu = c
        _decayed_square(sq, g, keep, share, s)
        if centered:
            mean = rest[-1]
            _lerp(mean, g, share, s)
            s = np.multiply(mean, mean, s)
            sq = np.subtract(sq, s, s)
        s = np.sqrt(sq, s)
        step = _quotient(g, s, floor)
        if has_momentum:
            buf = rest[0]
            np.multiply(buf, mu, buf)
            step = np.add(buf, step, buf)
        _add_scaled(p, step, move, s)

    columns = [params, grads, square_avgs, *(x for x in (momentum_buffers, grad_avgs) if x is not None)]
    family = None if centered else "rmsprop_momentum" if has_momentum else "rmsprop"
    _run(body, columns, (alpha, 1 - alpha, eps, -lr, momentum), family, decay=weight_decay, maximize=maximize)


def adadelta_update(params: Arrays, grads: Arrays, square_avgs: Arrays, acc_deltas: Arrays, *, lr: float, rho: float,
        eps: float, weight_decay: float = 0.0, maximize: bool = False) -> None:
    """Adadelta (Zeiler 2012)."""

    def body(c: Constants, s: Scratch, t: Scratch, p: Array, g: Array, sq: Array, acc: Array) -> None:
        keep, share, floor, move = c
        _decayed_square(sq, g, keep, share, s)
        s = np.add(sq, floor, s)
        s = np.divide(g, np.sqrt(s, s), s)
        delta = np.sqrt(np.add(acc, floor, t), t)
        np.multiply(delta, s, delta)
        _decayed_square(acc, delta, keep, share, s)
        _add_scaled(p, delta, move, s)

    _run(body, (params, grads, square_avgs, acc_deltas), (rho, 1 - rho, eps, -lr), "adadelta", decay=weight_decay,
        maximize=maximize)


def adamax_update(params: Arrays, grads: Arrays, exp_avgs: Arrays, exp_infs: Arrays, *, step: float, lr: float,
        beta1: float, beta2: float, eps: float, weight_decay: float = 0.0, maximize: bool = False) -> None:
    """Adamax, Adam under the infinity norm (Kingma and Ba 2015, section 7.1).  ``step`` counts from 1."""

    def body(c: Constants, s: Scratch, t: Scratch, p: Array, g: Array, m: Array, top: Array) -> None:
        w1, b2, floor, move = c
        _lerp(m, g, w1, s)
        np.multiply(top, b2, top)
        s = np.add(np.absolute(g, s), floor, s)
        np.maximum(top, s, out=top)
        _add_scaled(p, np.divide(m, top, s), move, s)

    _run(body, (params, grads, exp_avgs, exp_infs), (1 - beta1, beta2, eps, -lr / (1 - beta1**step)),
        decay=weight_decay, maximize=maximize)


def nadam_update(params: Arrays, grads: Arrays, exp_avgs: Arrays, exp_avg_sqs: Arrays, *, step: float, lr: float,
        beta1: float, beta2: float, eps: float, mu: float, mu_next: float, mu_product: float, weight_decay: float = 0.0,
        decoupled: bool = False, maximize: bool = False) -> None:
    """Adam with Nesterov momentum (Dozat 2016).  ``mu_product`` includes this step's ``mu``; ``step`` counts from 1."""

    def body(c: Constants, s: Scratch, t: Scratch, p: Array, g: Array, m: Array, v: Array) -> None:
        w1, b2, w2, unbias, floor, by_grad, by_mean = c
        _lerp(m, g, w1, s)
        _decayed_square(v, g, b2, w2, s)
        s = np.multiply(m, by_mean, s)
        t = np.multiply(g, by_grad, t)
        t = np.add(t, s, t)
        s = np.divide(v, unbias, s)
        s = np.add(np.sqrt(s, s), floor, s)
        np.add(p, np.divide(t, s, t), p)

    numbers = (1 - beta1, beta2, 1 - beta2, 1 - beta2**step, eps, -lr * (1 - mu) / (1 - mu_product),
        -lr * mu_next / (1 - mu_product * mu_next))
    _run(body, (params, grads, exp_avgs, exp_avg_sqs), numbers, None, maximize=maximize,
        **_decay(weight_decay, decoupled, lr))


def radam_rectification(step: float, beta2: float) -> float | None:
    """RAdam's factor for the adaptive step, or None while the variance estimate cannot be trusted."""
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * step * beta2**step / (1 - beta2**step)
    if length <= 5:
        return None
    return ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5


def radam_update(params: Arrays, grads: Arrays, exp_avgs: Arrays, exp_avg_sqs: Arrays, *, step: float, lr: float,
        beta1: float, beta2: float, eps: float, weight_decay: float = 0.0, decoupled: bool = False,
        maximize: bool = False) -> None:
    """Rectified Adam (Liu et al. 2020): plain momentum until the variance estimate can be trusted.  ``step`` from 1."""
    rectification = radam_rectification(step, beta2)
    size = lr / (1 - beta1**step)
    if rectification is not None:
        size = size * (1 - beta2**step) ** 0.5 * rectification

    def body(c: Constants, s: Scratch, t: Scratch, p: Array, g: Array, m: Array, v: Array) -> None:
        w1, b2, w2, floor, move = c
        _lerp(m, g, w1, s)
        _decayed_square(v, g, b2, w2, s)
        if rectification is not None:
            s = np.sqrt(v, s)
            m = _quotient(m, s, floor)
        _add_scaled(p, m, move, s)

    numbers = 1 - beta1, beta2, 1 - beta2, eps, -size
    _run(body, (params, grads, exp_avgs, exp_avg_sqs), numbers, None, maximize=maximize,
        **_decay(weight_decay, decoupled, lr))


def asgd_update(params: Arrays, grads: Arrays, averages: Arrays, *, eta: float, mu: float, lambd: float,
        weight_decay: float = 0.0, maximize: bool = False) -> None:
    """Averaged gradient descent (Polyak and Juditsky 1992) with step ``eta`` and averaging weight ``mu``."""

    def body(c: Constants, s: Scratch, t: Scratch, p: Array, g: Array, mean: Array) -> None:
        keep, move, weight = c
        np.multiply(p, keep, p)
        _add_scaled(p, g, move, s)
        if mu == 1:
            mean[...] = p
        else:
            _lerp(mean, p, weight, s)

    _run(body, (params, grads, averages), (1 - lambd * eta, -eta, mu), decay=weight_decay, maximize=maximize)


def rprop_update(params: Arrays, grads: Arrays, prevs: Arrays, step_sizes: Arrays, *, eta_minus: float, eta_plus: float,
        step_min: float, step_max: float, maximize: bool = False) -> None:
    """Resilient backpropagation (Riedmiller and Braun 1993); a NaN gradient moves nothing."""

    def body(c: Constants, s: Scratch, t: Scratch, p: Array, g: Array, prev: Array, size: Array) -> None:
        minus, plus, low, high = c
        # Masks as bytes, multiplied: several times faster than ``where=`` and boolean indices.
        agreement = np.multiply(g, prev, s)
        kept, turned = (agreement > 0).view(np.int8), (agreement < 0).view(np.int8)
        same = np.subtract(1 - kept, turned)
        s = np.multiply(kept, plus, s)
        np.add(s, np.multiply(turned, minus), s)
        np.multiply(size, np.add(s, same, s), size)
        np.minimum(np.maximum(size, low, out=size), high, out=size)
        np.multiply(g, 1 - turned, prev)
        np.subtract(p, np.multiply(size, np.subtract((prev > 0).view(np.int8), (prev < 0).view(np.int8)), s), p)

    _run(body, (params, grads, prevs, step_sizes), (eta_minus, eta_plus, step_min, step_max), maximize=maximize)
