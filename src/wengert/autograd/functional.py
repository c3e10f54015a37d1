"""``torch.autograd.functional``: Jacobians, Hessians and products with them, for functions of tensors.

Every function here takes ``func`` and its ``inputs`` (a tensor or a tuple of tensors) and gives answers of the same
structure. ``create_graph``: the answers can be differentiated again. ``strict``: an output or a derivative that does
not depend on an input is an error rather than zero. Products with a Jacobian from the right come from two backwards:
the first is linear in its vector, and the derivative of a linear function is the function transposed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..functions.creation import zeros_like
from ..graph.modes import enable_grad, is_grad_enabled, set_grad_enabled, transforms
from ..tensor import Tensor
from ..tensor.functions import function
from ..tensor.types import strided
from ..transforms import NO_REQUIRES_GRAD
from ..transforms import forward_mode as tangents
from . import grad

if TYPE_CHECKING:
    from collections.abc import Callable

    Tensors = tuple[Tensor, ...]

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """``(func(*inputs), v @ J)``: the product of a vector, shaped like the outputs, with the Jacobian.

    >>> from wengert.autograd.functional import vjp
    >>> vjp(lambda x: x ** 2, torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with enable_grad():
        call = _Call(func, inputs, "vjp", create_graph, strict)
        call.run()
        v = call.vector(v, call.outputs, call.several_out, "the user-provided function returns")
    with set_grad_enabled(create_graph or is_grad_enabled()):
        product = call.filled(_grad(call.outputs, call.inputs, v, create_graph), call.inputs, "back")
    return call.answer(product, call.several_in)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """``(func(*inputs), J @ v)``: the product of the Jacobian with a vector, shaped like the inputs.

    >>> from wengert.autograd.functional import jvp
    >>> jvp(lambda x: x.prod(), torch.tensor([2.0, 3.0]), torch.tensor([1.0, 0.0]))
    (tensor(6.), tensor(3.))
    """
    with enable_grad():
        call = _Call(func, inputs, "jvp", create_graph, strict)
        v = call.vector(v, call.inputs, call.several_in)
        call.run()
        seeds = _zeros(call.outputs)  # any value will do: the first backward is linear in it
        first = _grad(call.outputs, call.inputs, seeds, True)
        call.depends(first, "grad_inputs")
    with set_grad_enabled(create_graph or is_grad_enabled()):
        product = call.filled(_grad(first, seeds, v, create_graph), call.outputs, "back_trick")
    return call.answer(product, call.several_out)


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """``(func(*inputs), v @ H)`` for a function with one number as its output; ``H`` is its Hessian.

    >>> from wengert.autograd.functional import vhp
    >>> vhp(lambda x: x.pow(3).sum(), torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        call = _Call(func, inputs, "vhp", create_graph, strict)
        v = call.vector(v, call.inputs, call.several_in)
        first = call.gradient()
    with set_grad_enabled(create_graph or is_grad_enabled()):
        product = call.filled(_grad(first, call.inputs, v, create_graph), call.inputs, "double_back")
    return call.answer(product, call.several_in)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """``(func(*inputs), H @ v)``; the Hessian is symmetric, so that ``vhp`` gives the same for less work.

    >>> from wengert.autograd.functional import hvp
    >>> hvp(lambda x: x.pow(3).sum(), torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        call = _Call(func, inputs, "hvp", create_graph, strict)
        v = call.vector(v, call.inputs, call.several_in)
        first = call.gradient()
        seeds = _zeros(call.inputs)
        second = _grad(first, call.inputs, seeds, True)
        call.depends(first, "hessian")
    with set_grad_enabled(create_graph or is_grad_enabled()):
        product = call.filled(_grad(second, seeds, v, create_graph), call.inputs, "double_back_trick")
    return call.answer(product, call.several_in)


def jacobian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
        vectorize: bool = False, strategy: str = "reverse-mode") -> Any:
    """The Jacobian of ``func``: for an output of shape ``o`` and an input of shape ``i`` a tensor of shape ``o + i``.

    Tuples of outputs and of inputs give tuples (outputs outside). ``vectorize``: all rows at once, as a batch, rather
    than one after the other. ``strategy="forward-mode"`` (with ``vectorize``): columns rather than rows, which is
    quicker where outputs outnumber inputs.

    >>> torch.autograd.functional.jacobian(lambda x: x.cumprod(0), torch.tensor([2.0, 3.0]))
    tensor([[1., 0.],
            [3., 2.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not '
                'supported together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
            )
        return _jacobian_forward(func, inputs, strict, vectorize)
    with enable_grad():
        call = _Call(func, inputs, "jacobian", create_graph, strict)
        call.run()
        if vectorize and strict:
            raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
                "supported together. Please either set `strict=False` or `vectorize=False`.")
        if vectorize:
            table = _jacobian_at_once(call)
        else:
            table = tuple(_jacobian_rows(call, i, output) for i, output in enumerate(call.outputs))
        if not create_graph:
            table = tuple(tuple(j.detach() for j in row) for row in table)
    return _unpacked(tuple(_unpacked(row, call.several_in) for row in table), call.several_out)


def _jacobian_at_once(call: _Call) -> Any:
    """The Jacobians of all outputs from one backward of a batch: the rows of the identity."""
    sizes = [o.numel() for o in call.outputs]
    flat = tuple(o.reshape(-1) for o in call.outputs)
    seeds = _construct_standard_basis_for(flat, sizes)
    pairs = [(o, v) for o, v in zip(flat, seeds) if o.requires_grad]
    found: Any = (None,) * len(call.inputs)
    if pairs:
        found = grad([o for o, _ in pairs], call.inputs, [v for _, v in pairs], None, call.create_graph,
            allow_unused=True, is_grads_batched=True)
    columns = [(zeros_like(x).expand((sum(sizes), *x.shape)) if g is None else g).split(sizes)
        for g, x in zip(found, call.inputs)]
    return tuple(tuple(c[i].reshape(o.shape + x.shape) for c, x in zip(columns, call.inputs))
        for i, o in enumerate(call.outputs))


def _jacobian_forward(func: Any, inputs: Any, strict: bool, vectorize: bool) -> Any:
    """The Jacobians from one forward pass that carries a batch of tangents: the columns of the identity."""
    if strict:
        raise RuntimeError('torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not '
            'supported together (yet). Please either set `strict=False` or `strategy="reverse-mode"`.')
    if not vectorize:
        raise NotImplementedError("Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly "
            "implemented for `vectorize=True`.")
    from ..transforms.vmap import VmapLevel as Map
    from ..transforms.vmap import expanded, wrapped
    from .forward_ad import refuse_mapped

    several_in, row = _row(inputs, "inputs", "jacobian")
    for x in row:
        if not (x.is_floating_point() or x.is_complex()):
            raise ValueError(f"Expected primal to be floating point or complex, but got: {x.dtype}")
    refuse_mapped("_make_dual", *row)
    sizes = [x.numel() for x in row]
    with Map(sum(sizes)) as mapped, tangents.DualLevel() as level:
        seeds = _construct_standard_basis_for([x.reshape(-1) for x in row], sizes)
        given = tuple(level.dual(x, wrapped(v, mapped).view(x.shape)) for x, v in zip(row, seeds))
        several_out, outputs = _row(func(*given), "outputs", "jacobian")
        found = [level.tangent(o) for o in outputs]
        columns = [expanded(zeros_like(level.primal(o)) if t is None else t, mapped) for o, t in zip(outputs, found)]
    table = [_unpacked([part.movedim(0, -1).reshape((*o.shape, *x.shape)) for x, part in zip(row, c.split(sizes))],
        several_in) for o, c in zip(outputs, columns)]
    return _unpacked(table if several_in else tuple(table), several_out)  # lists for several inputs, as PyTorch's are


def _construct_standard_basis_for(tensors: Any, tensor_numels: Any) -> Tensors:
    """The rows of one large identity, cut into a matrix for each of the tensors, which have so many elements."""
    found, at = [], 0
    for v, n in zip(tensors, tensor_numels):
        rows = zeros_like(v.detach()).new_zeros((sum(tensor_numels), n))
        rows.diagonal(-at).fill_(1)
        found.append(rows)
        at += n
    return tuple(found)


def _jacobian_rows(call: _Call, i: int, output: Tensor) -> Tensors:
    """The Jacobians of one output, for each input."""
    columns: list[list[Tensor]] = [[] for _ in call.inputs]
    flat = output.reshape(-1)
    for k in range(output.numel()):
        for j, (x, g) in enumerate(zip(call.inputs, _grad((flat[k],), call.inputs, None, call.create_graph, True))):
            if g is None and call.strict:
                raise RuntimeError(f"Output {i} of the user-provided function is independent of input {j}. This is "
                    "not allowed in strict mode.")
            if g is not None:
                call.check_graph(g, "jacobian", i)
            columns[j].append(zeros_like(x) if g is None else g)
    return tuple(
        function("stack")(c).reshape(output.shape + x.shape) if c else zeros_like(x).new_zeros(output.shape + x.shape)
        for c, x in zip(columns, call.inputs)
    )


def hessian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
        vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode") -> Any:
    """The Hessian of a function with one number as its output: for inputs of shapes ``a`` and ``b`` a tensor ``a + b``.

    >>> torch.autograd.functional.hessian(lambda x: x.prod(), torch.tensor([2.0, 3.0]))
    tensor([[0., 1.],
            [1., 0.]])
    """
    several, inputs = _row(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def one_number(*given: Any) -> Any:
        call = _Call(func, given, "hessian", create_graph, strict)
        call.inputs = given
        call.run()
        call.one_number()
        return call.outputs[0].squeeze()

    def gradient(*given: Any) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            given = tuple(x.requires_grad_(True) for x in given)
        row = jacobian(one_number, given, create_graph=True)
        if strict:
            _require(row, "jacobian")
        return row

    table = jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    rows = [_unpacked(row, several) for row in table]
    return _unpacked(rows if several and isinstance(table, list) else tuple(rows), several)


class _Call:
    """One call of the user's function on inputs of our own, and what its answers must be like."""

    outputs: Tensors
    several_out: bool

    def __init__(self, func: Any, inputs: Any, name: str, create_graph: bool, strict: bool) -> None:
        if transforms.get()[0]:
            raise RuntimeError(NO_REQUIRES_GRAD)
        self.func, self.name, self.create_graph, self.strict = func, name, create_graph, strict
        self.several_in, given = _row(inputs, "inputs", name)
        # New tensors in any case, so that the same ones used inside func from outside count as constants.
        self.inputs = tuple(_copy(x) if create_graph and x.requires_grad else x.detach().requires_grad_()
            for x in given)

    def run(self) -> None:
        """Call the function."""
        self.several_out, self.outputs = _row(self.func(*self.inputs), "outputs of the user-provided function",
            self.name)
        self.depends(self.outputs, "outputs")

    def one_number(self) -> None:
        """Refuse functions with any other output than one number."""
        if self.several_out:
            raise RuntimeError(f"The function given to {self.name} should return a single Tensor")
        if self.outputs[0].numel() != 1:
            raise RuntimeError(f"The Tensor returned by the function given to {self.name} should contain a single "
                "element")

    def gradient(self) -> Any:
        """The gradient, recorded, of a function with one number as its output."""
        self.run()
        self.one_number()
        found = _grad(self.outputs, self.inputs, None, True)
        self.depends(found, "jacobian")
        return found

    def vector(self, v: Any, like: Tensors, several: bool,
            subject: str = "the input to the user-provided function is") -> Tensors | None:
        """The user's vector, checked against the tensors that it belongs to; None for a single number."""
        if v is None:
            if len(like) != 1 or like[0].numel() != 1:
                raise RuntimeError(
                    f"The vector v can only be None if {subject} a single Tensor with a single element.")
            return None
        _, row = _row(v, "v", self.name)
        row = tuple(x.view_as(x) if self.create_graph and x.requires_grad else x.detach() for x in row)
        if len(row) != len(like):
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(row)}." if several
                else "The given v should contain a single Tensor.")
        for i, (x, other) in enumerate(zip(row, like)):
            if x.shape != other.shape:
                raise RuntimeError(f"{f'Entry {i} in ' if several else ''}v has invalid size: should be {other.shape} "
                    f"but got {x.shape}.")
        return row

    def depends(self, row: Any, what: str) -> None:
        """In strict mode, refuse answers without a graph."""
        if self.strict:
            _require(row, what)

    def filled(self, grads: Any, like: Tensors, stage: str) -> Tensors:
        """Undefined gradients as zeros, or, in strict mode, as errors."""
        row = []
        for i, (g, x) in enumerate(zip(grads, like)):
            if g is None and self.strict:
                raise RuntimeError(_INDEPENDENT[stage].format(i=i))
            if g is not None:
                self.check_graph(g, "hessian" if stage.startswith("double") else "jacobian", i)
            row.append(zeros_like(x) if g is None else g)
        return tuple(row)

    def check_graph(self, g: Tensor, what: str, i: int) -> None:
        """In strict mode, refuse a derivative of input ``i`` that cannot be differentiated, though it should be."""
        if self.strict and self.create_graph and not g.requires_grad:
            raise RuntimeError(f"The {what} of the user-provided function is independent of input {i}. This is not "
                "allowed in strict mode when create_graph=True.")

    def answer(self, product: Tensors, several: bool) -> tuple[Any, Any]:
        """The outputs and the product as the user gets them."""
        outputs = self.outputs
        if not self.create_graph:
            outputs, product = (tuple(x.detach() for x in row) for row in (outputs, product))
        return _unpacked(outputs, self.several_out), _unpacked(product, several)


_INDEPENDENT = {
    "back": "The output of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
    "back_trick": (
        "The gradient with respect to the input is independent of entry {i} in the grad_outputs when using the double "
        "backward trick to compute forward mode gradients. This is not allowed in strict mode."
    ),
    "double_back": "The jacobian of the user-provided function is independent of input {i}. This is not allowed in "
    "strict mode.",
    "double_back_trick": (
        "The hessian of the user-provided function is independent of entry {i} in the grad_jacobian. This is not "
        "allowed in strict mode as it prevents from using the double backward trick to replace forward mode AD."
    ),
}

_UNRELATED = {
    "outputs": (
        "Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
        "differentiable manner from the input when running in strict mode."
    ),
    "grad_inputs": (
        "The gradient with respect to input {i} is independent of the inputs of the user-provided function. This is "
        "not allowed in strict mode."
    ),
    "jacobian": (
        "While computing the hessian, found that the jacobian of the user-provided function with respect to input {i} "
        "is independent of the input. This is not allowed in strict mode. You should ensure that your function is "
        "twice differentiable and that the jacobian depends on the inputs (this would be violated by a linear function "
        "for example)."
    ),
    "hessian": (
        "The hessian of the user-provided function with respect to input {i} is independent of the input. This is not "
        "allowed in strict mode. You should ensure that your function is thrice differentiable and that the hessian "
        "depends on the inputs."
    ),
}


def _require(row: Any, what: str) -> None:
    for i, x in enumerate(row):
        if x is None:
            raise RuntimeError(_INDEPENDENT["back"].format(i=i))
        if not x.requires_grad:
            raise RuntimeError(_UNRELATED[what].format(i=i))


def _row(x: Any, what: str, name: str) -> tuple[bool, Tensors]:
    """Whether ``x`` was a tuple, and ``x`` as one."""
    several = isinstance(x, tuple)
    row = x if several else (x,)
    for i, t in enumerate(row):
        if not isinstance(t, Tensor):
            where = f"value at index {i}" if several else f"given {what}"
            raise TypeError(f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {where} "
                f"has type {type(t)}.")
    return several, row


def _unpacked(row: Any, several: bool) -> Any:
    return row if several else row[0]


def _copy(x: Tensor) -> Tensor:
    """Another tensor with the history of ``x``."""
    return x.view_as(x) if x.layout is strided else x.clone()


def _zeros(row: Tensors) -> Tensors:
    return tuple(zeros_like(x, requires_grad=True) for x in row)


def _grad(outputs: Any, inputs: Tensors, vectors: Any, create_graph: bool,
        retain: bool | None = None) -> tuple[Any, ...]:
    """``grad`` for outputs some of which may be undefined or without a graph."""
    seeds = (None,) * len(outputs) if vectors is None else vectors
    live = [(o, g) for o, g in zip(outputs, seeds) if o is not None and o.requires_grad]
    if not live:
        return (None,) * len(inputs)
    return grad([o for o, _ in live], inputs, [g for _, g in live], retain, create_graph, allow_unused=True)


def _as_tuple_nocheck(x: Any) -> Any:
    """``x`` as a tuple, whatever it is."""
    return x if isinstance(x, tuple) else tuple(x) if isinstance(x, list) else (x,)


def _as_tuple(inp: Any, arg_name: str | None = None, fn_name: str | None = None) -> Any:
    """Whether ``inp`` was a tuple, and ``inp`` as one of tensors; without the two names, for errors, only the last."""
    if arg_name is None and fn_name is None:
        return _as_tuple_nocheck(inp)
    return _row(inp, str(arg_name), str(fn_name))


def _tuple_postprocess(res: Any, to_unpack: bool | tuple[bool, bool]) -> Any:
    """What :func:`_as_tuple` made tuples of, without them: ``to_unpack`` is what it found, of both levels or of one."""
    if isinstance(to_unpack, tuple):
        outer, inner = to_unpack
        return _unpacked(tuple(_unpacked(row, inner) for row in res), outer)
    return _unpacked(res, to_unpack)


def _grad_preprocess(inputs: Any, create_graph: bool, need_graph: bool) -> tuple[Any, ...]:
    """New tensors to differentiate by: with the history of those of ``inputs`` that have one, if ``create_graph``."""
    return tuple(_copy(x) if create_graph and x.requires_grad else x.detach().requires_grad_(need_graph)
        for x in inputs)


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Results, in tuples of any depth, without a history that nobody asked for."""
    if isinstance(inputs[0], Tensor):
        return inputs if create_graph else tuple(x.detach() for x in inputs)
    return tuple(_grad_postprocess(row, create_graph) for row in inputs)
