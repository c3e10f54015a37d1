"""The parts of ``gradcheck`` that tests written against PyTorch reach for, by the names they have there: tensors and Jacobians.

A Jacobian is a tensor with a row per element of the input and a column per element of the output.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...tensor import Tensor, wrap
from ...tensor.backward import grad
from ...tensor.functions import function
from ...tensor.random import rand
from ...tensor.types import strided
from .backward import numerical, part_of, rows
from .error import GradcheckError
from .problem import Problem, differentiable, filled, places, row, same, stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


# -- tensors ------------------------------------------------------------------------------------------------------------


def _as_tuple(x: Any) -> tuple[Any, ...]:
    return row(x)


def _is_float_or_complex_tensor(obj: Any) -> bool:
    return isinstance(obj, Tensor) and (obj.is_floating_point() or obj.is_complex())


def _is_sparse_compressed_tensor(obj: Tensor) -> bool:
    return _is_sparse_any_tensor(obj) and not obj.is_sparse


def _is_sparse_any_tensor(obj: Tensor) -> bool:
    return obj.layout is not strided


def _differentiable_outputs(x: Any) -> tuple[Any, ...]:
    return differentiable(x)


def _get_inp_tensors(tupled_inputs: Any) -> tuple[list[int], list[Any]]:
    """Where the inputs that require gradients are, and they."""
    found = [i for i, x in enumerate(tupled_inputs) if isinstance(x, Tensor) and x.requires_grad]
    return found, [tupled_inputs[i] for i in found]


def _iter_tensors(x: Any, only_requiring_grad: bool = False) -> Iterator[Any]:
    """The tensors in ``x`` and in what it iterates over."""
    if isinstance(x, Tensor):
        if x.requires_grad or not only_requiring_grad:
            yield x
    elif hasattr(x, "__iter__") and not isinstance(x, str):
        for part in x:
            yield from _iter_tensors(part, only_requiring_grad)


def _iter_tensor(x_tensor: Any) -> Iterator[tuple[Any, tuple[int, ...], int]]:
    """For each element: the tensor that holds it in its memory, where it is there, and its number in the whole."""
    memory = x_tensor.data if x_tensor.layout is strided else wrap(stored(x_tensor))
    for at, place in places(x_tensor):
        k = int(np.ravel_multi_index(place, x_tensor._data.shape)) if place else 0
        yield (memory, at, k) if x_tensor.layout is strided else (memory[at], (), k)


def _densify(x: Any) -> Any:
    """The same with every place of sparse tensors stored."""
    if isinstance(x, (list, tuple)):
        return type(x)(map(_densify, x))
    return filled(x)


def _to_real_dtype(dtype: Any) -> Any:
    return dtype.to_real() if dtype.is_complex else dtype


def _to_flat_dense_if_sparse(tensor: Any) -> Any:
    return tensor.to_dense().reshape(-1) if _is_sparse_any_tensor(tensor) else tensor


def _common(a: Any, b: Any) -> tuple[Any, Any]:
    wide = np.promote_types(a._data.dtype, b._data.dtype)
    return tuple(t if t._data.dtype == wide else t.to((a if a._data.dtype == wide else b).dtype) for t in (a, b))  # type: ignore[return-value]


def _allclose_with_type_promotion(a: Any, b: Any, rtol: float, atol: float) -> bool:
    x, y = _common(a, b)
    return bool(x.allclose(y, rtol, atol))


def _dot_with_type_promotion(u: Any, v: Any) -> Any:
    if u.dim() != 1 or v.dim() != 1:
        raise AssertionError(f"Expected u and v to be 1D tensors, but got dims {u.dim()} and {v.dim()}")
    return (u * v).sum()


def _mul_tensor_or_tuple(u: Any, k: Any) -> Any:
    return (k * u[0], k * u[1]) if isinstance(u, tuple) else k * u


def _reshape_tensor_or_tuple(u: Any, shape: Any) -> Any:
    if isinstance(u, tuple):
        return tuple(_reshape_tensor_or_tuple(x, shape) for x in u[:2])
    return u if _is_sparse_any_tensor(u) else u.reshape(shape)


def _transpose(matrix_of_tensors: Any) -> list[tuple[Any, ...]]:
    return list(zip(*matrix_of_tensors))


def _vec_from_tensor(x: Any, generator: Any, downcast_complex: bool = False) -> Any:
    """A random unit vector in the place of ``x``; of a sparse tensor, one with the places that it stores."""
    if _is_sparse_any_tensor(x):
        memory = stored(x)
        values = _unit(rand(memory.size, generator=generator), x, downcast_complex)
        return type(x)._wrap(x._data.with_values(values._data.reshape(memory.shape)))
    return _unit(rand(x.numel(), generator=generator), x, downcast_complex)


def _unit(vec: Any, like: Any, downcast: bool) -> Any:
    vec = vec.to(_to_real_dtype(like.dtype))
    vec = vec / vec.norm()
    return vec if downcast or not like.is_complex() else vec.to(like.dtype)


def _make_vectors(inp_tensors: Any, outputs: Any, *, use_forward_ad: bool) -> tuple[Any, list[Any], list[Any]]:
    """Random vectors for fast mode: of the outputs, of the inputs (two real ones for a complex input), and the latter densely."""
    from ...tensor.random import Generator

    generator = Generator()
    vectors, flat = [], []
    for x in inp_tensors:
        found = _vec_from_tensor(x, generator, True)
        if x.is_complex():
            found = found, _vec_from_tensor(x, generator, True)
        vectors.append(found)
        flat.append(tuple(map(_to_flat_dense_if_sparse, found)) if isinstance(found, tuple) else _to_flat_dense_if_sparse(found))
    return None if use_forward_ad else [_vec_from_tensor(o, generator) for o in outputs], vectors, flat


def _allocate_jacobians_with_inputs(input_tensors: Any, numel_output: int) -> tuple[Any, ...]:
    """Zeros for the Jacobian of every floating-point input that requires a gradient."""
    wanted = (t for t in input_tensors if _is_float_or_complex_tensor(t) and t.requires_grad)
    return tuple(wrap(np.zeros((t.numel(), numel_output), t._data.dtype)) for t in wanted)


def _allocate_jacobians_with_outputs(output_tensors: Any, numel_input: int, dtype: Any = None, device: Any = None) -> tuple[Any, ...]:
    """Zeros for the Jacobian of every floating-point output."""
    found = (wrap(np.zeros((numel_input, t.numel()), t._data.dtype)) for t in output_tensors if _is_float_or_complex_tensor(t))
    return tuple(t if dtype is None else t.to(dtype) for t in found)


def _real_and_imag_output(fn: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """``fn`` with the real parts of its outputs, and with the imaginary parts (a real output is left as it is)."""

    def taking(name: str) -> Callable[..., Any]:
        return lambda *inputs: tuple(function(name)(o) if o.is_complex() else o for o in row(fn(*inputs)))

    return taking("real"), taking("imag")


def _real_and_imag_input(fn: Callable[..., Any], complex_inp_indices: Any, tupled_inputs: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """``fn`` as a function of the real parts of its complex inputs, and of their imaginary parts, the others standing still."""

    def of(rebuilt: Callable[[Any, Any], Any]) -> Callable[..., Any]:
        return lambda *inputs: fn(*[rebuilt(x, tupled_inputs[i]) if i in complex_inp_indices else x for i, x in enumerate(inputs)])

    return of(lambda x, t: x + t.imag * 1j), of(lambda x, t: t.real + x * 1j)


def _adjusted_atol(atol: float, u: Any, v: Any) -> float:
    """The absolute tolerance for a projection: for the sums of the elements of both vectors."""
    u = u[0] + u[1] if isinstance(u, tuple) else u
    return atol * float(u.sum()) * (1.0 if v is None else float(v.sum()))


def _check_jacobians_equal(j1: Any, j2: Any, atol: float) -> bool:
    return same([x.detach()._data for x in j1], [x.detach()._data for x in j2], atol)


def _check_outputs_same_dtype_and_shape(output1: Any, output2: Any, eps: float, idx: Any = None) -> None:
    where = f"on index {idx} " if idx is not None else ""
    for what in ("shape", "dtype"):
        a, b = getattr(output1, what), getattr(output2, what)
        if a != b:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed {where}by {eps}, but got: {what}s {a} and {b}."
            )


# -- Jacobians ----------------------------------------------------------------------------------------------------------


def _get_numerical_jacobian(
    fn: Callable[..., Any], inputs: Any, outputs: Any = None, target: Any = None, eps: float = 1e-3, is_forward_ad: bool = False
) -> list[tuple[Any, ...]]:
    """For every input that requires a gradient (or tensor of ``target``) the Jacobians of every output, by differences."""
    inputs = row(inputs)
    if any(o.is_complex() for o in (row(fn(*inputs)) if outputs is None else row(outputs))) and not is_forward_ad:
        raise ValueError("Expected output to be non-complex. get_numerical_jacobian no longer supports functions that return complex outputs.")
    moved = _get_inp_tensors(inputs if target is None else row(target))[1]
    return [_numerical(lambda *_: fn(*inputs), x, eps) for x in moved]


def _numerical(fn: Callable[..., Any], x: Any, eps: float) -> tuple[Any, ...]:
    problem = Problem(fn, (x,), eps, 0.0, 0.0, masked=True)
    return tuple(wrap(part_of(n, "real") if x.is_complex() else n[0]) for n in numerical(problem, x))


def _get_numerical_jvp_wrt_specific_input(
    fn: Callable[..., Any], input_idx: int, inputs: Any, u: Any, eps: float, is_forward_ad: bool = False
) -> list[Any]:
    """The differences of all outputs along ``u``, a vector for one input, flat."""
    x = inputs[input_idx]
    (table,) = (_numerical(lambda *_: fn(*inputs), x, eps),)
    flat = (u[0] + 1j * u[1] if isinstance(u, tuple) else u).reshape(-1)
    return [(flat.to(j.dtype)[:, None] * j).sum(0) for j in table]


def _get_analytical_jacobian(inputs: Any, outputs: Any, input_idx: int, output_idx: int) -> Any:
    """The Jacobian of one output for one input, by ``grad``."""
    return _check_analytical_jacobian_attributes(inputs, outputs[output_idx], float("inf"), False)[input_idx]


def _compute_analytical_jacobian_rows(vjp_fn: Callable[[Any], Any], sample_output: Any) -> list[list[Any]]:
    """What ``vjp_fn`` gives for a one in each element of the output: a list for every input."""
    given = []
    for k in range(sample_output.numel()):
        seed = np.zeros(sample_output._data.shape, sample_output._data.dtype)
        seed.reshape(-1)[k] = 1
        given.append(vjp_fn(wrap(seed)))
    return [[None if g is None else g.clone() for g in column] for column in zip(*given)]


def _get_analytical_vjps_wrt_specific_output(vjp_fn: Callable[[Any], Any], sample_output: Any, v: Any) -> list[list[Any]]:
    return [[None if g is None else g.clone()] for g in vjp_fn(v.reshape(sample_output.shape))]


def _stack_and_check_tensors(list_of_list_of_tensors: Any, inputs: Any, numel_outputs: int) -> tuple[tuple[Any, ...], bool, bool]:
    """``(Jacobians, whether all sizes fit, whether all types do)`` of columns that a backward gave; None is zeros."""
    wanted = _get_inp_tensors(inputs)[1]
    found, sizes, types = [], True, True
    for x, columns in zip(wanted, list_of_list_of_tensors):
        zeros = wrap(np.zeros(x.numel(), x._data.dtype))
        flat = []
        for g in columns:
            if g is not None:
                sizes = sizes and g.shape == x.shape
                types = types and (g.shape != x.shape or g.dtype == x.dtype)
                g = (g if g.layout is strided else g.to_dense()).reshape(-1)
                if g.numel() != x.numel():
                    raise AssertionError(f"Expected out_jacobian column to have {g.numel()} elements, but got {x.numel()}")
            flat.append(zeros if g is None else g.to(x.dtype))
        found.append(function("stack")(flat, 1) if flat else wrap(np.zeros((x.numel(), numel_outputs), x._data.dtype)))
    return tuple(found), sizes, types


def _check_analytical_jacobian_attributes(
    inputs: Any, output: Any, nondet_tol: float, check_grad_dtypes: bool, fast_mode: bool = False, v: Any = None
) -> tuple[Any, ...]:
    """The Jacobians of ``output`` for all inputs that require gradients, computed twice, which must agree to ``nondet_tol``.

    ``fast_mode``: the gradients for ``v`` alone, as columns.
    """
    wanted = _get_inp_tensors(inputs)[1]
    seed = None if not fast_mode else v.reshape(output.shape)

    def once() -> list[np.ndarray]:
        fresh = output.clone()
        if seed is None:
            return rows(fresh, wanted, dtypes=check_grad_dtypes)
        given = grad(fresh, wanted, seed, retain_graph=True, allow_unused=True)
        if check_grad_dtypes and any(g is not None and g.dtype != x.dtype for g, x in zip(given, wanted)):
            raise GradcheckError("Gradient has dtype mismatch")
        return [np.zeros((x.numel(), 1), x._data.dtype) if g is None else g.detach()._data.reshape(-1, 1) for g, x in zip(given, wanted)]

    first, second = once(), once()
    if not same(first, second, nondet_tol):
        raise GradcheckError(
            "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different values, "
            f"although analytical gradient matches numerical gradient.The tolerance for nondeterminism was {nondet_tol}."
        )
    return tuple(map(wrap, first))


def _get_analytical_jacobian_forward_ad(
    fn: Callable[..., Any], inputs: Any, outputs: Any, *, check_grad_dtypes: bool = False, all_u: Sequence[Any] | None = None
) -> tuple[tuple[Any, ...], ...]:
    """For every input that requires a gradient the Jacobians of every output, by forward mode; ``all_u``: along these vectors only."""
    from .forward import _jacobians, _only, jvp

    if any(x.is_complex() for x in row(inputs) if isinstance(x, Tensor)):
        raise ValueError("Expected inputs to be non-complex for _get_analytical_jacobian_forward_ad.")
    problem = Problem(fn, row(inputs), 1e-6, 0.0, 0.0, dtypes=check_grad_dtypes)
    if all_u is None:
        return tuple(tuple(map(wrap, _jacobians(problem, j, 1))) for j in range(len(problem.wanted)))
    seeds = (u.detach()._data.reshape(x._data.shape) for u, x in zip(all_u, problem.wanted))
    return tuple(tuple(map(wrap, jvp(problem, _only(problem, j, seed)))) for j, seed in enumerate(seeds))


def _combine_jacobian_cols(jacobians_cols: dict[int, list[Any]], outputs: Any, input: Any, numel: int) -> tuple[Any, ...]:
    """Jacobians whose rows are given by number: for every element of the input, one vector for each output."""
    found = _allocate_jacobians_with_outputs(outputs, numel, dtype=input.dtype if input.dtype.is_complex else None)
    for i, j in enumerate(found):
        for k, vectors in jacobians_cols.items():
            j[k] = vectors[i]
    return found


def _get_notallclose_msg(
    analytical: Any, numerical: Any, output_idx: int, input_idx: int, complex_indices: Any, test_imag: bool = False, is_forward_ad: bool = False
) -> str:  # fmt: skip
    """The words about a mismatch."""
    part = ""
    if complex_indices and (input_idx if is_forward_ad else output_idx) in complex_indices:
        what = "inputs" if is_forward_ad else "outputs"
        part = f"While considering the {'imaginary' if test_imag else 'real'} part of complex {what} only, "
    mode = "computed with forward mode " if is_forward_ad else ""
    return (
        f"{part}Jacobian {mode}mismatch for output {output_idx:d} with respect to input {input_idx:d},\n"
        f"numerical:{numerical}\nanalytical:{analytical}\n"
    )
