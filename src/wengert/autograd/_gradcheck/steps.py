"""The single checks of ``gradcheck`` by the names that they have in PyTorch; each gives True or raises ``GradcheckError``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from . import backward, forward
from .error import BATCHED, BATCHED_FORWARD
from .pieces import _get_inp_tensors
from .problem import Problem, row
from .problem import _check_inputs as _refuse_inputs
from .problem import _check_outputs as _refuse_outputs

if TYPE_CHECKING:
    from collections.abc import Callable


def _check_inputs(tupled_inputs: Any) -> bool:
    _refuse_inputs(tupled_inputs)
    return True


def _check_outputs(outputs: Any) -> None:
    _refuse_outputs(outputs)


def _slow_gradcheck(
    func: Callable[..., Any], func_out: Any, tupled_inputs: Any, outputs: Any, eps: float, rtol: float, atol: float, check_grad_dtypes: bool,
    nondet_tol: float, *, use_forward_ad: bool = False, complex_indices: Any = None, test_imag: bool = False, masked: bool = False,
) -> bool:  # fmt: skip
    """Every element of every Jacobian."""
    return _compared(func, tupled_inputs, eps, rtol, atol, check_grad_dtypes, nondet_tol, use_forward_ad, masked, fast=False)


def _fast_gradcheck(
    func: Callable[..., Any], func_out: Any, inputs: Any, outputs: Any, eps: float, rtol: float, atol: float, check_grad_dtypes: bool,
    nondet_tol: float, *, use_forward_ad: bool = False, complex_indices: Any = None, test_imag: bool = False, masked: bool = False,
) -> bool:  # fmt: skip
    """A random projection of every Jacobian."""
    return _compared(func, inputs, eps, rtol, atol, check_grad_dtypes, nondet_tol, use_forward_ad, masked, fast=True)


def _compared(
    func: Any, inputs: Any, eps: float, rtol: float, atol: float, dtypes: bool, nondet_tol: float, tangents: bool, masked: bool, *, fast: bool
) -> bool:
    problem = Problem(func, row(inputs), eps, atol, rtol, nondet_tol, dtypes, masked)
    (forward if tangents else backward).check(problem, fast)
    return True


def _check_no_differentiable_outputs(func: Callable[..., Any], inputs: Any, func_out: Any, eps: float, *, is_forward_ad: bool) -> bool:
    """Outputs that have no gradients depend on no input."""
    problem = Problem(func, row(inputs), eps, 0.0, 0.0)
    problem.outputs = []
    backward.check(problem, False)
    return True


def _gradcheck_helper(
    func: Callable[..., Any], inputs: Any, eps: float, atol: float, rtol: float, nondet_tol: float, check_undefined_grad: bool,
    check_grad_dtypes: bool, check_batched_grad: bool, check_batched_forward_grad: bool, check_forward_ad: bool, check_backward_ad: bool,
    fast_mode: bool, masked: bool,
) -> bool:  # fmt: skip
    """``gradcheck`` itself, which raises."""
    from ..gradcheck import gradcheck

    return gradcheck(
        func, inputs, eps=eps, atol=atol, rtol=rtol, nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad, check_batched_forward_grad=check_batched_forward_grad,
        check_forward_ad=check_forward_ad, check_backward_ad=check_backward_ad, fast_mode=fast_mode, masked=masked,
    )  # fmt: skip


def _test_undefined_backward_mode(func: Callable[..., Any], outputs: Any, inputs: Any) -> bool:
    """Gradients of outputs that are undefined count as zero."""
    backward.undefined(Problem(func, row(inputs), 1e-6, 0.0, 0.0))
    return True


def _test_undefined_forward_mode(func: Callable[..., Any], outputs: Any, inputs: Any) -> bool:
    """Tangents of inputs that are undefined count as zero."""
    forward.undefined(Problem(func, row(inputs), 1e-6, 0.0, 0.0))
    return True


def _test_batched_grad(input: Any, output: Any, output_idx: int) -> bool:
    """``is_grads_batched`` gives what one vector after another gives."""
    given: Any = SimpleNamespace(outputs=[output], wanted=_get_inp_tensors(input)[1])
    backward.batched(given)
    return True


def _test_batched_grad_forward_ad(func: Callable[..., Any], inputs: Any) -> bool:
    """Tangents mapped by ``vmap`` give what they give one after another."""
    forward.batched(Problem(func, row(inputs), 1e-6, 0.0, 0.0))
    return True


def _test_backward_mul_by_grad_output(outputs: Any, inputs: Any, masked: bool) -> bool:
    """A gradient of zero gives zeros."""
    given: Any = SimpleNamespace(outputs=row(outputs), wanted=_get_inp_tensors(inputs)[1], masked=masked)
    backward.proportional(given)
    return True


def _get_failed_batched_grad_test_msg(output_idx: int, input_idx: int, res: Any, exp: Any, is_forward_ad: bool = False) -> str:
    """The words about batched gradients that differ."""
    why = BATCHED_FORWARD if is_forward_ad else BATCHED
    return f"For output {output_idx} and input {input_idx}:\n\n{why}\n\nGot:\n{res}\n\nExpected:\n{exp}"
