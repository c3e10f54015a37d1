"""``OpInfo``: an operator as generated tests see it, with its names, its dtypes and calls to try.

What PyTorch writes down for every operator is found out here by asking: which dtypes an operator takes and
differentiates, and whether it takes ``out=``, is what its first sample shows.
"""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ....arrays.dtypes import NAMES
from ....tensor.tensor import Tensor
from ..helpers import noncontiguous_like

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .sampling import Sample

__all__ = [
    "L", "M", "S", "XS", "BinaryUfuncInfo", "DecorateInfo", "ErrorInput", "OpInfo", "ReductionOpInfo", "SampleInput", "ShapeFuncInfo",
    "SpectralFuncInfo", "SpectralFuncType", "UnaryUfuncInfo",
]  # fmt: skip

L, M, S, XS = 20, 10, 5, 3  # sizes that PyTorch's samples are written with
_NOTHING = object()
_KINDS = {  # a dtype that is tried -> those that go with it
    "float64": ("float32", "float64"), "complex128": ("complex64", "complex128"), "int64": ("uint8", "int8", "int16", "int32", "int64"),
    "bool": ("bool",), "float16": ("float16",), "bfloat16": ("bfloat16",),
}  # fmt: skip


def _as_it_is(x: Any) -> Any:
    return x


class SampleInput:
    """One call of an operator: the first argument, the others, and what a test should know about the call."""

    def __init__(
        self, input: Any, *var_args: Any, args: Any = None, kwargs: Any = None, output_process_fn_grad: Any = _as_it_is,
        broadcasts_input: bool = False, name: str = "", **var_kwargs: Any,
    ) -> None:  # fmt: skip
        if var_args and args is not None:
            raise AssertionError("a sample takes its arguments either one by one or as a tuple")
        self.input, self.args, self.kwargs = input, tuple(var_args or args or ()), {**(kwargs or {}), **var_kwargs}
        self.output_process_fn_grad, self.broadcasts_input, self.name = output_process_fn_grad, broadcasts_input, name

    def with_metadata(self, *, output_process_fn_grad: Any = None, broadcasts_input: bool | None = None, name: str | None = None) -> SampleInput:
        """The sample, with these things to know about it."""
        if output_process_fn_grad is not None:
            self.output_process_fn_grad = output_process_fn_grad
        self.broadcasts_input = self.broadcasts_input if broadcasts_input is None else broadcasts_input
        self.name = self.name if name is None else name
        return self

    def __repr__(self) -> str:
        return f"SampleInput({self.summary()})"

    def summary(self) -> str:
        """The arguments, tensors by shape and dtype."""
        shown = self.transform(lambda t: f"Tensor[size={tuple(t.shape)}, dtype={t.dtype}]" if isinstance(t, Tensor) else t)
        return f"input={shown.input}, args={shown.args}, kwargs={shown.kwargs}, broadcasts_input={self.broadcasts_input}, name={self.name!r}"

    def transform(self, f: Callable[[Any], Any]) -> SampleInput:
        """A sample whose arguments are ``f`` of these, in sequences item by item."""

        def walk(x: Any) -> Any:
            if type(x) in (list, tuple):
                return type(x)(map(walk, x))
            if type(x) is dict:
                return {k: walk(v) for k, v in x.items()}
            return f(x)

        made = SampleInput(walk(self.input), args=walk(self.args), kwargs=walk(self.kwargs))
        return made.with_metadata(output_process_fn_grad=self.output_process_fn_grad, broadcasts_input=self.broadcasts_input, name=self.name)

    def numpy(self) -> SampleInput:
        """The sample with NumPy's arrays and dtypes."""
        return self.transform(lambda t: t.detach().cpu().resolve_conj().resolve_neg().numpy() if isinstance(t, Tensor) else t)

    def noncontiguous(self) -> SampleInput:
        """The sample with tensors that have gaps in memory."""
        return self.transform(lambda t: noncontiguous_like(t) if isinstance(t, Tensor) else t)


class ErrorInput:
    """A call that has to be refused: with what kind of exception, and a pattern of its text."""

    def __init__(self, sample_input: SampleInput, *, error_type: Any = RuntimeError, error_regex: str) -> None:
        self.sample_input, self.error_type, self.error_regex = sample_input, error_type, error_regex


class DecorateInfo:
    """Decorators for some tests of an operator: those of a class, of a name, on a device, for some dtypes."""

    def __init__(
        self, decorators: Any, cls_name: str | None = None, test_name: str | None = None, *, device_type: str | None = None, dtypes: Any = None,
        active_if: bool = True,
    ) -> None:  # fmt: skip
        self.decorators = list(decorators) if isinstance(decorators, (list, tuple)) else [decorators]
        self.cls_name, self.test_name, self.device_type, self.dtypes, self.active_if = cls_name, test_name, device_type, dtypes, active_if

    def is_active(self, cls_name: str, test_name: str, device_type: str, dtype: Any, param_kwargs: Any = None) -> bool:
        """Whether the decorators are for that test."""
        wanted = ((self.cls_name, cls_name), (self.test_name, test_name), (self.device_type, device_type))
        return self.active_if and all(w is None or w == h for w, h in wanted) and (self.dtypes is None or dtype in self.dtypes)


class OpInfo:
    """An operator: ``name`` as below ``torch``, ``op`` the function, and samples of calls.

    ``samples``: calls written in the alphabet of ``sampling``. ``sample_inputs_func(op, device, dtype, requires_grad)``: what
    gives samples instead. Any other fact that tests ask for may be given by keyword.
    """

    aten_name = decomp_aten_name = aten_backward_name = gradcheck_fast_mode = dtypesIfCUDA = ref = error_inputs_func = None
    supports_autograd = supports_forward_ad = supports_gradgrad = supports_fwgrad_bwgrad = supports_inplace_autograd = True
    check_batched_grad = check_batched_gradgrad = check_batched_forward_grad = check_inplace_batched_forward_grad = True
    supports_sparse = supports_sparse_csr = supports_sparse_csc = supports_sparse_bsr = supports_sparse_bsc = supports_njt = False
    supports_scripting = supports_tracing = supports_varargs = supports_expanded_weight = assert_autodiffed = is_factory_function = False
    supports_cow_input_no_materialize_forward = supports_cow_input_no_materialize_backward = dynamic_dtypes = promotes_int_to_float = False
    test_conjugated_samples = test_neg_view = False
    gradcheck_nondet_tol = 0.0
    operator_variant = inplace_operator_variant = None
    aliases: Sequence[Any] = ()
    skips: Sequence[Any] = ()

    def __init__(
        self, name: str, *, op: Any = None, samples: Sequence[Sample] = (), sample_inputs_func: Any = None, variant_test_name: str = "",
        decorators: Sequence[Any] = (), dtypes: Any = None, method_variant: Any = _NOTHING, inplace_variant: Any = _NOTHING,
        has_nondeterministic_output: bool = False, gradcheck_wrapper: Any = None, sample_kwargs: Any = None, **facts: Any,
    ) -> None:  # fmt: skip
        self.name, self.op, self.variant_test_name, self.decorators = name, op if op is not None else _named(name), variant_test_name, [*decorators]
        self._samples, self.sample_inputs_func, self._dtypes = samples, sample_inputs_func, dtypes
        own = name if name.isidentifier() else ""
        self.method_variant = (getattr(Tensor, own, None) if own else None) if method_variant is _NOTHING else method_variant
        self.inplace_variant = (getattr(Tensor, own + "_", None) if own else None) if inplace_variant is _NOTHING else inplace_variant
        self.has_nondeterministic_output = has_nondeterministic_output
        self.gradcheck_wrapper = gradcheck_wrapper or (lambda op, *args, **kwargs: op(*args, **kwargs))
        self.sample_kwargs: Any = sample_kwargs or (lambda device, dtype, input: ({}, {}))
        for fact, value in facts.items():
            setattr(self, fact, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.op(*args, **kwargs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, variant_test_name={self.variant_test_name!r})"

    # -- names and forms ----------------------------------------------------------------------------------------------

    @property
    def full_name(self) -> str:
        """The name, and that of the variant."""
        return f"{self.name}.{self.variant_test_name}" if self.variant_test_name else self.name

    @property
    def formatted_name(self) -> str:
        """The full name as part of a test's name."""
        return self.full_name.replace(".", "_")

    def get_op(self) -> Any:
        """The function."""
        return self.op

    def get_method(self) -> Any:
        """The method of tensors, or None."""
        return self.method_variant

    def get_inplace(self) -> Any:
        """The method that writes to its tensor, or None."""
        return self.inplace_variant

    def get_operator(self) -> Any:
        """The function of Python's ``operator``, or None."""
        return self.operator_variant

    def get_inplace_operator(self) -> Any:
        """The augmented assignment of Python's ``operator``, or None."""
        return self.inplace_operator_variant

    def get_decorators(self, test_class: str, test_name: str, device: str, dtype: Any, param_kwargs: Any = None) -> list[Any]:
        """The decorators for that test."""
        found: list[Any] = []
        for d in (*self.decorators, *self.skips):
            if not isinstance(d, DecorateInfo):
                found.append(d)
            elif d.is_active(test_class, test_name, device, dtype, param_kwargs):
                found += d.decorators
        return found

    # -- samples ------------------------------------------------------------------------------------------------------

    def sample_inputs(self, device: Any, dtype: Any, requires_grad: bool = False, **kwargs: Any) -> Iterator[SampleInput]:
        """Calls to try, with tensors of that dtype; those that can require a gradient do so if it is asked for."""
        if self.sample_inputs_func is not None:
            yield from self.sample_inputs_func(self, device, dtype, requires_grad)
            return
        for number, sample in enumerate(self._samples):
            rng = np.random.default_rng([number, len(self.name)])
            args = [_drawn(a, rng, dtype, requires_grad) for a in sample.args]
            options = {k: _drawn(v, rng, dtype, requires_grad) for k, v in sample.options.items()}
            first = args.pop(0) if args else options.pop(next(iter(options)))
            if self.inplace_variant is not None and not isinstance(first, Tensor):
                continue  # a number with a tensor: there is nothing to write to
            result = SampleInput(first, args=tuple(args), kwargs=options)
            result.broadcasts_input = self.inplace_variant is not None and self._grows(result)
            yield result

    def _grows(self, sample: SampleInput) -> bool:
        """Whether the result has another shape or dtype than the first argument, so that it could not be written there."""
        still = sample.transform(lambda t: t.detach() if isinstance(t, Tensor) else t)
        try:
            result = self.op(still.input, *still.args, **still.kwargs)
        except Exception:  # whoever calls it will see
            return False
        return not isinstance(result, Tensor) or (result.shape, result.dtype) != (still.input.shape, still.input.dtype)

    reference_inputs = sample_inputs

    def conjugate_sample_inputs(self, device: Any, dtype: Any, requires_grad: bool = False, **kwargs: Any) -> Iterator[SampleInput]:
        """The samples with their first tensors conjugated lazily."""
        for sample in self.sample_inputs(device, dtype, requires_grad, **kwargs):
            if isinstance(sample.input, Tensor):
                sample.input = sample.input.detach().conj().requires_grad_(sample.input.requires_grad)
            yield sample

    def error_inputs(self, device: Any, **kwargs: Any) -> Iterator[ErrorInput]:
        """Calls that have to be refused."""
        return iter(() if self.error_inputs_func is None else self.error_inputs_func(self, device, **kwargs))

    # -- what samples show ----------------------------------------------------------------------------------------------

    @functools.cached_property
    def _shown(self) -> tuple[set[Any], set[Any]]:
        """The dtypes that the first sample can be called with, and those of which the result has a gradient."""
        taken: set[Any] = set()
        differentiated: set[Any] = set()
        for tried, family in _KINDS.items():
            dtype = NAMES[tried]
            grad = self.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    result = self._first(dtype, grad)
            except Exception:  # however it refuses: it does not take that dtype
                continue
            taken |= {NAMES[n] for n in family}
            if grad and any(getattr(t, "requires_grad", False) for t in (result if isinstance(result, (list, tuple)) else [result])):
                differentiated |= {NAMES[n] for n in family}
        return taken, differentiated

    def _first(self, dtype: Any, grad: bool, **more: Any) -> Any:
        sample = next(iter(self.sample_inputs("cpu", dtype, requires_grad=grad)))
        if not any(isinstance(t, Tensor) and t.dtype == dtype for t in _flat((sample.input, sample.args, sample.kwargs))):
            raise TypeError("the sample has no tensor of that dtype")
        return self.op(sample.input, *sample.args, **sample.kwargs, **more)

    @property
    def dtypes(self) -> set[Any]:
        """The dtypes that it takes."""
        return self._shown[0] if self._dtypes is None else set(self._dtypes)

    @property
    def backward_dtypes(self) -> set[Any]:
        """The dtypes for which it has a gradient."""
        return self._shown[1] if self.supports_autograd else set()

    def supported_dtypes(self, device_type: Any) -> set[Any]:
        """The dtypes that it takes."""
        return self.dtypes

    def supported_backward_dtypes(self, device_type: Any) -> set[Any]:
        """The dtypes for which it has a gradient."""
        return self.backward_dtypes

    def supports_dtype(self, dtype: Any, device_type: Any) -> bool:
        """Whether it takes that dtype."""
        return dtype in self.dtypes

    @functools.cached_property
    def supports_out(self) -> bool:
        """Whether it takes ``out=``."""
        try:
            result = self._first(NAMES["float64"], False)
            out = result.clone() if isinstance(result, Tensor) else type(result)(t.clone() for t in result)
            self._first(NAMES["float64"], False, out=out)
        except (RuntimeError, TypeError, ValueError, AttributeError, StopIteration):
            return False
        return True


class UnaryUfuncInfo(OpInfo):
    """An operator on the elements of one tensor."""

    domain: tuple[Any, Any] = (None, None)
    handles_large_floats = handles_complex_extremal_values = True
    reference_numerics_filter = None
    supports_complex_to_float = False


class BinaryUfuncInfo(OpInfo):
    """An operator on the elements of two tensors, which are broadcast."""

    lhs_make_tensor_kwargs: dict[str, Any] = {}
    rhs_make_tensor_kwargs: dict[str, Any] = {}
    always_returns_bool = supports_rhs_python_scalar = supports_one_python_scalar = supports_two_python_scalars = False


class ReductionOpInfo(OpInfo):
    """An operator that brings dimensions together."""

    identity: Any = None
    nan_policy: Any = None
    supports_multiple_dims = True
    promotes_int_to_int64 = complex_to_real = False
    result_dtype = None


class ShapeFuncInfo(OpInfo):
    """An operator that repeats or rearranges."""


class SpectralFuncType:
    """Kinds of Fourier transforms."""

    OneD, TwoD, ND = 1, 2, 3


class SpectralFuncInfo(OpInfo):
    """A Fourier transform."""

    ndimensional = SpectralFuncType.OneD


def _flat(values: Any) -> Iterator[Any]:
    if isinstance(values, dict):
        values = values.values()
    for v in values:
        if isinstance(v, (list, tuple, dict)):
            yield from _flat(v)
        else:
            yield v


def _named(name: str) -> Any:
    """The function of that name below ``torch``."""
    from importlib import import_module

    found: Any = import_module(__name__.partition(".")[0])
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _drawn(spec: Any, rng: np.random.Generator, dtype: Any, requires_grad: bool) -> Any:
    """The argument that ``spec`` describes, its numbers in that dtype."""
    from .sampling import Spec, draw

    if isinstance(spec, (list, tuple)) and not isinstance(spec, Spec):
        return type(spec)(_drawn(s, rng, dtype, requires_grad) for s in spec)
    if not isinstance(spec, Spec):
        return spec
    t = draw(spec, rng, _Torch)
    if not t.requires_grad:
        return t
    t = t.detach()
    if dtype.is_complex:
        imaginary = draw(spec._replace(kind="any"), rng, _Torch).detach() * 0.4
        if spec.kind == "definite":
            imaginary = imaginary - imaginary.mT
        t = t + 1j * imaginary
    elif not dtype.is_floating_point:
        t = (t.abs() * 4).round() if str(dtype) in ("torch.uint8", "torch.bool") else (t * 4).round()
    t = t.to(dtype)
    return t.requires_grad_(requires_grad) if requires_grad and (dtype.is_floating_point or dtype.is_complex) else t


class _Torch:
    """What ``draw`` makes tensors with."""

    @staticmethod
    def tensor(*args: Any, **kwargs: Any) -> Any:
        from ....tensor.creation import tensor

        return tensor(*args, **kwargs)
