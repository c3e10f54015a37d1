"""``gradcheck`` and ``gradgradcheck``: gradients compared with central differences, and a verdict where they differ.

The numerical Jacobian moves one element of one input at a time; the analytical one calls ``grad`` for one row per
element of the outputs, or forward mode for one column per element of the inputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.devices import alike
from ..tensor import wrap
from ._entry_points import grad
from ._gradcheck.error import GradcheckError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian", "get_numerical_jacobian_wrt_specific_input",
    "gradcheck", "gradgradcheck",
]


def gradcheck(func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
        raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
        check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
        check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False,
        masked: bool | None = None) -> bool:
    """Whether the gradients of ``func(*inputs)`` agree with central differences of step ``eps``; True, or an error.

    Checked are the inputs that require gradients, which should be float64 or complex128. Agreement means
    ``|analytical - numerical| <= atol + rtol * |numerical|`` for every element. ``fast_mode`` compares one random
    projection instead of every element. ``nondet_tol``: how much two backwards may differ. ``check_undefined_grad``:
    outputs whose gradient is undefined count as zero. ``check_batched_grad``: ``is_grads_batched`` gives the same.
    ``check_forward_ad``: tangents are checked too (``check_backward_ad=False``: only they). ``masked``: of sparse
    inputs, only the elements that they store are checked.

    Raises ``GradcheckError`` (False is returned instead under ``raise_exception=False``), ``ValueError`` if no input
    requires a gradient or an output is sparse, ``RuntimeError`` for inputs with overlapping memory.

    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(lambda t: t.exp() * t, x)
    True
    >>> from wengert.autograd.gradcheck import GradcheckError
    >>> x = torch.tensor([0.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> try:
    ...     torch.autograd.gradcheck(torch.relu, x)
    ... except GradcheckError as e:
    ...     e.verdict, e.index
    ('kink', (0, (0,), 0, (0,)))
    """
    _check_options(check_forward_ad, check_backward_ad, check_batched_grad, check_batched_forward_grad)
    from ._gradcheck import backward, forward
    from ._gradcheck.problem import Problem, row

    problem = Problem(func, row(inputs), eps, atol, rtol, nondet_tol, check_grad_dtypes, bool(masked))
    checks: list[tuple[bool, Callable[[], None]]] = [
        (check_backward_ad, lambda: backward.check(problem, fast_mode)),
        (check_forward_ad, lambda: forward.check(problem, fast_mode)),
        (check_forward_ad and check_undefined_grad, lambda: forward.undefined(problem)),
        (check_batched_forward_grad, lambda: forward.batched(problem)),
        (check_batched_grad, lambda: backward.batched(problem)),
        (check_backward_ad, lambda: backward.proportional(problem)),
        (check_backward_ad and check_undefined_grad, lambda: backward.undefined(problem)),
    ]
    try:
        for wanted, check in checks:
            if wanted:
                check()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_options(forward: bool, backward: bool, batched_backward: bool, batched_forward: bool) -> None:
    """Refuse options of ``gradcheck`` that do not go together."""
    if not (forward or backward):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if batched_backward and not backward:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if batched_forward and not forward:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")


def gradgradcheck(func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6,
        atol: float = 1e-5, rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True,
        nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
        check_batched_grad: bool = False, check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True,
        fast_mode: bool = False, masked: bool = False) -> bool:
    """``gradcheck`` of the gradients of ``func``: with respect to ``inputs`` and to ``grad_outputs`` (random if None).

    ``check_fwd_over_rev``: forward mode over ``backward`` is checked too (``check_rev_over_rev=False``: only it).
    ``gen_non_contig_grad_outputs``: the random ``grad_outputs`` are not contiguous in memory. The rest is as in
    ``gradcheck``.

    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(lambda t: t.exp() * t, x)
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    for name, asked in (("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)):
        if asked and not check_rev_over_rev:
            raise AssertionError(f"Setting {name}=True requires check_rev_over_rev to be True")
    from ._gradcheck.problem import checked, differentiable, row

    first = row(inputs)
    if grad_outputs is None:
        vectors: tuple[Any, ...] = tuple(
            _random_like(o, gen_non_contig_grad_outputs) for o in differentiable(func(*first)))
    else:
        vectors = row(grad_outputs)
    count = len(vectors)
    wanted = [i for i, x in enumerate(first) if checked(x)]
    live = [i for i, v in enumerate(vectors) if v.requires_grad]

    def gradients(*args: Any) -> tuple[Any, ...]:
        given, seeds = args[:-count], args[-count:]
        for i in wanted:
            given[i].requires_grad_()
        for i in live:
            seeds[i].requires_grad_()
        answer = grad(differentiable(func(*given)), [given[i] for i in wanted], seeds, create_graph=True,
            allow_unused=True)
        return tuple(g for g in answer if g is not None)

    return gradcheck(gradients, (*first, *vectors), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad, fast_mode=fast_mode, check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev, masked=masked)


def _random_like(o: Any, noncontiguous: bool) -> Any:
    """A random vector in place of a gradient of ``o``, from the stream that ``manual_seed`` sets."""
    from ..functions.random import rand

    a = rand(o.shape, dtype=o.dtype).mul_(2).sub_(1)._wg_data
    if noncontiguous and a.ndim:
        a = np.repeat(a, 2, axis=-1)[..., ::2]
    return wrap(alike(a, o._wg_data)).requires_grad_()


# -- Jacobians alone: once private, and used outside ever since --------------------------------------------------------


def _deprecated(name: str, grad_out: float, outputs: Any) -> None:
    import warnings

    warnings.warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will be "
        "removed in a future version of PyTorch. If you have a specific use for this or feature request for this to be "
        "a stable API, please file us an issue at https://github.com/pytorch/pytorch/issues/new",
        FutureWarning,
        stacklevel=3,
    )
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")
    if any(o.is_complex() for o in outputs):
        raise ValueError(f"Expected output to be non-complex. {name} no longer supports functions that return complex "
            "outputs.")


def get_numerical_jacobian(fn: Callable[..., Any], inputs: Any, target: Any = None, eps: float = 1e-3,
        grad_out: float = 1.0) -> Any:
    """The Jacobians of the first output of ``fn(inputs)``, by differences: ``(elements of the input, of the output)``
    each.

    ``target``: the tensors to move, in place of ``inputs``. Deprecated, with a ``FutureWarning``.
    """
    from ._gradcheck.problem import checked, row

    _deprecated("get_numerical_jacobian", grad_out, row(fn(inputs)))
    targets = row(inputs if target is None else target)
    return tuple(_numerical(lambda *_: fn(inputs), x, eps)[0] for x in targets if checked(x))


def get_numerical_jacobian_wrt_specific_input(fn: Callable[..., Any], input_idx: int, inputs: Any, outputs: Any,
        eps: float, input: Any = None, is_forward_ad: bool = False) -> Any:
    """The Jacobians of every output of ``fn(*inputs)`` for one input, by differences."""
    from ._gradcheck.problem import row

    inputs = row(inputs)
    moved = inputs[input_idx] if input is None else input
    if not moved.requires_grad:
        raise AssertionError("Expected input to have requires_grad=True")
    return _numerical(lambda *_: fn(*inputs), moved, eps)


def _numerical(func: Callable[..., Any], x: Any, eps: float) -> tuple[Any, ...]:
    from ._gradcheck.backward import numerical, part_of
    from ._gradcheck.problem import Problem

    found = numerical(Problem(func, (x,), eps, 0.0, 0.0, masked=True), x)
    return tuple(wrap(part_of(n, "real") if x.is_complex() else n[0]) for n in found)


def get_analytical_jacobian(inputs: Any, output: Any, nondet_tol: float = 0.0, grad_out: float = 1.0) -> Any:
    """``(Jacobians, reproducible, sizes fit, types fit)`` of ``output`` for the inputs that require gradients, by
    ``grad``.

    Deprecated, with a ``FutureWarning``.
    """
    from ._gradcheck.backward import rows
    from ._gradcheck.problem import checked, row, same

    _deprecated("get_analytical_jacobian", grad_out, (output,))
    wanted = [x for x in row(inputs) if checked(x)]
    first, second = rows(output.clone(), wanted), rows(output.clone(), wanted)
    # the engine lets no other sizes and types pass
    return tuple(map(wrap, first)), same(first, second, nondet_tol), True, True
