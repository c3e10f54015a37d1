"""Custom operators: what ``torch.library.custom_op`` makes, and what stands for it in ``torch.ops``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..amp.autocast_mode import is_autocast_enabled
from ..arrays.context import ContextVar
from ..arrays.storageless import META_DEVICE
from ..autograd.function import Function
from ..dispatch import torch_dispatch as dispatch
from ..functions.copying import memory_of
from ..graph.modes import modes, no_grad, set_modes
from ..ops import NAMESPACES, Namespace
from ..tensor import Tensor, classes
from ..tensor.autograd_meta import requires_grad
from .fallback import below, fallen_back
from .schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable

OPERATORS: dict[str, CustomOperator] = {}


class Packet(dispatch.OpOverloadPacket):
    """``torch.ops.name.operator``, of one overload, ``default``, or of several that have names."""

    def add(self, operator: CustomOperator, overload: str) -> Any:
        made = self.__dict__[overload] = dispatch.OpOverload(self, overload)
        made._run, made._schema = operator, operator.schema
        self._made.append(overload)
        return made

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"The underlying op of '{self.namespace}.{self._opname}' has no overload name '{name}'")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(self._made) == 1:
            return self.__dict__[self._made[0]](*args, **kwargs)
        complaints = []
        for overload in (self.__dict__[name] for name in self._made):
            try:
                overload._schema.bind(args, kwargs)
            except RuntimeError as e:
                complaints.append(str(e))
            else:
                return overload(*args, **kwargs)
        raise RuntimeError(
            "\n\n".join(("Overloaded torch operator invoked from Python failed to match any schema:", *complaints)))

    def overloads(self) -> list[str]:
        return list(self._made)


# What gives the context of a fake kernel that is running: see ``torch.library.get_ctx``.
context: ContextVar[Callable[[], Any] | None] = ContextVar("wengert_fake_context", default=None)


def current_context() -> Any:
    """The context of the fake kernel that is running; None outside of any."""
    make = context.get()
    return None if make is None else make()


def in_context(make: Callable[[], Any], fake: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Run a fake kernel, which may get a context that ``make()`` gives."""
    token = context.set(context.get() or make)
    try:
        return fake(*args, **kwargs)
    finally:
        context.reset(token)


def fallthrough_kernel() -> None:
    """A mark for ``Library.impl``: nothing is to be done at that key."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class CustomOperator:
    """One operator of the user's: its schema, its kernels by device, and its gradient.

    ``closed``: whether its kernels run below autograd, as those of ``custom_op`` do, and those of an operator with a
    gradient. The kernels of others may be made of recorded operators.
    """

    def __init__(self, qualname: str, schema: str, closed: bool = False) -> None:
        namespace, name = qualname.split("::")
        name, _, overload = name.partition(".")
        self.closed = closed
        self.home: Any = None  # the module of its function
        self.qualname, self.schema = qualname, Schema(qualname, schema)
        self.shown = name  # what its function is called
        self.kernels: dict[str, Callable[..., Any]] = {}
        self.fake: Callable[..., Any] | None = None
        self.backward: Callable[..., Any] | None = None
        self.setup: Callable[..., Any] | None = None
        self.mapped: Any = None  # a Function whose ``vmap`` is the operator's
        self.rules: dict[Any, Callable[..., Any]] = {}  # what dispatch modes, and classes that dispatch, do with it
        self.autocast: dict[str, Any] = {}  # by device, the type that its tensors are brought to
        self.disabled: set[str] = set()  # devices whose kernels are switched off
        place = NAMESPACES.setdefault(namespace, Namespace(namespace))
        known = place.__dict__.get(name)
        self.packet = known if overload and known is not None else Packet(name, namespace)
        self.overload = self.packet.add(self, overload or "default")
        self.function: Any = type(f"GeneratedBackwardFor_{namespace}_{name}_{overload or 'default'}", (_Recorded,),
            {"operator": self})
        OPERATORS[qualname] = self
        place.__dict__[name] = self.packet

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args, keyword_only = self.schema.bind(args, kwargs)
        if self.autocast and is_autocast_enabled("cpu"):
            return self._below_autocast(args, keyword_only)
        flat, shape = _flatten(args)
        if self.mapped is not None and classes.mapping is not None and classes.mapping.holds_batched(args):
            return classes.mapping.apply_function(self.mapped, True, args)
        if not self.closed:
            return self._open(args, keyword_only, flat)
        if modes().grad and any(isinstance(t, Tensor) and requires_grad(t) for t in flat):
            plan = _Plan(shape, keyword_only)
            return plan.returned(self.function.apply(plan, *flat))
        return self.run(args, keyword_only)

    def _below_autocast(self, args: tuple[Any, ...], keyword_only: dict[str, Any]) -> Any:
        """The call with its floating tensors in the type that was registered, and autocast off."""
        from ..amp.autocast_mode import autocast

        kind = self.autocast["cpu"]

        def converted(v: Any) -> Any:
            if isinstance(v, (list, tuple)):
                return type(v)(map(converted, v))
            return v.to(kind) if isinstance(v, Tensor) and v.is_floating_point() else v

        with autocast("cpu", enabled=False):
            return self(*map(converted, args), **{k: converted(v) for k, v in keyword_only.items()})

    def _open(self, args: tuple[Any, ...], keyword_only: dict[str, Any], flat: list[Any]) -> Any:
        """What was registered for autograd, if anything, else a kernel."""
        if not below.get() and not modes().inference:
            registered = self.kernels.get("autogradcpu") or self.kernels.get("autograd")
            if registered is not None:
                return registered(*args, **keyword_only)
        if "cpu" not in self.kernels and "compositeimplicitautograd" in self.kernels:
            return self.kernels["compositeimplicitautograd"](*args, **keyword_only)
        return fallen_back(lambda: self.run(args, keyword_only), self.qualname, flat, self.schema.mutable_returns)

    def _found(self, args: tuple[Any, ...] = ()) -> Callable[..., Any]:
        if META_DEVICE and any(isinstance(t, Tensor) and t.is_meta for t in _flatten(args)[0]):
            fake = self.kernels.get("meta") or self.fake
            if fake is None and self.closed:
                raise RuntimeError(f"There was no fake impl registered for <CustomOpDef({self.qualname})>. This is "
                    f"necessary for torch.compile/export/fx tracing to work. Please use `{self.shown}.register_fake` "
                    "to add an fake impl.")
            if fake is None:
                raise NotImplementedError(f"{self.qualname}: attempted to run this operator with Meta tensors, but "
                    "there was no fake impl or Meta kernel registered for this operator. register one with "
                    "torch.library.register_fake.")
            return lambda *args, **kwargs: in_context(self._no_context, fake, args, kwargs)
        own = None if "cpu" in self.disabled else self.kernels.get("cpu")
        run = own or self.kernels.get("default") or self.kernels.get("compositeimplicitautograd")
        if (own is run is not None and not self.closed and not any(isinstance(t, Tensor) for t in _flatten(args)[0])
                and self._wants_tensors()):
            raise NotImplementedError("There were no tensor arguments to this function (e.g., you passed an empty list "
                f"of Tensors), but no fallback function is registered for schema {self.qualname}.  This usually means "
                "that this function requires a non-empty list of Tensors, or that you (the operator writer) forgot to "
                "register a fallback function.")
        if run is None:
            raise NotImplementedError(f"Could not run '{self.qualname}' with arguments from the 'CPU' backend. This "
                f"could be because the operator doesn't exist for this backend. '{self.qualname}' is only available "
                f"for these backends: {sorted(self.kernels)}.")
        return run

    def _wants_tensors(self) -> bool:
        return any(p.is_tensor or p.is_list for p in self.schema.parameters)

    def _no_context(self) -> Any:
        raise RuntimeError(f"{self.qualname}: You're trying to run this operator with meta Tensors (as opposed to "
            "FakeTensors), but this operator may return an output Tensor with data-dependent shape. Meta Tensors don't "
            "support operators with outputs that have data-dependent shapes but FakeTensors do. If your operator does "
            "not return an output with data-dependent shape, make sure the FakeTensor and/or meta kernel does not call "
            "torch.library.get_ctx(). Otherwise, please use FakeTensors.")

    def run(self, args: tuple[Any, ...], keyword_only: dict[str, Any]) -> Any:
        """The kernel, below autograd, under the dispatch modes that are active."""
        m = modes()
        given = (*args, *keyword_only.values())
        if self.rules and (m.dispatch or dispatch.dispatching(given)):
            answer = self._ruled(args, keyword_only, given)
            if answer is not NotImplemented:
                return answer
        if m.dispatch or dispatch.dispatching(given):
            return dispatch.ask(self.overload, self._kernel, False, args, keyword_only, m)
        return self._kernel(*args, **keyword_only)

    def _ruled(self, args: Any, keyword_only: Any, given: Any) -> Any:
        """What was registered for the innermost dispatch mode, or for the classes of the arguments."""
        m, classes = modes(), dispatch.dispatching(given)
        if m.dispatch:
            rule = self.rules.get(type(m.dispatch[-1]))
            if rule is None:
                return NotImplemented
            set_modes(m.with_(dispatch=m.dispatch[:-1]))
            try:
                return rule(m.dispatch[-1], self.overload, classes, args, keyword_only)
            finally:
                set_modes(m)
        rule = next((self.rules[c] for c in classes if c in self.rules), None)
        return NotImplemented if rule is None else rule(self.overload, classes, args, keyword_only)

    def _kernel(self, *args: Any, **keyword_only: Any) -> Any:
        run = self._found(args)
        if not self.closed:
            answer = run(*args, **keyword_only)
            if self.schema.returns == "Tensor" and not isinstance(answer, (Tensor, type(None))):
                raise RuntimeError(f"Unable to cast {answer!s} to Tensor")
            return answer
        with no_grad():
            answer = run(*args, **keyword_only)
        named = dict(zip((p.name for p in self.schema.parameters if not p.kwonly), args)) | keyword_only
        for p in self.schema.parameters:
            if p.mutated:
                for t in named[p.name] if p.is_list else (named[p.name],):
                    if t is not None:
                        t._wg_vc[0] += 1
        returns = self.schema.returns
        if returns == "Tensor" and not isinstance(answer, Tensor):
            raise RuntimeError(f"Unable to cast {answer!s} to Tensor")
        if (returns.startswith("(") and returns != "()" and not isinstance(answer, (tuple, list))) or (
            returns.endswith("[]") and not isinstance(answer, (tuple, list))
        ):
            raise TypeError(f"Object of type '{type(answer).__name__}' is not an instance of 'sequence'")
        self._check_fresh(args, answer)
        return answer

    def _check_fresh(self, args: Any, answer: Any) -> None:
        """Results must be memory of their own: autograd cannot track views that a kernel makes."""
        seen = {id(memory_of(t)) for t in _flatten(args)[0] if isinstance(t, Tensor)}
        for t in _flatten(answer if isinstance(answer, tuple) else (answer,))[0]:
            if not isinstance(t, Tensor):
                continue
            if id(memory_of(t)) in seen:
                raise RuntimeError(f"{self.qualname.split('::')[1]} (with implementation in {self.home}): The output "
                    "of this custom operator (1) must not also be an input to this custom operator and (2) may not "
                    "alias any inputs to this custom operator or other returns. The most common way to trigger this "
                    "error is if we have y = custom_op(x) and y and x are the same Tensor. Please instead return a "
                    "clone of the offending output tensor(s) (e.g. return x.clone()) or refactor the custom operator "
                    "to not return y.")
            seen.add(id(memory_of(t)))


class _Plan:
    """How flat arguments and results are put together again."""

    def __init__(self, shape: tuple[int | None, ...], keyword_only: dict[str, Any]) -> None:
        self.shape, self.keyword_only = shape, keyword_only
        self.output: tuple[int | None, ...] = ()
        self.single = True
        self.tensors: tuple[bool, ...] = ()  # which of the flat arguments are tensors

    def taken(self, answer: Any) -> tuple[Any, ...]:
        self.single = not isinstance(answer, tuple)
        flat, self.output = _flatten((answer,) if self.single else answer)
        return tuple(flat)

    def returned(self, flat: Any) -> Any:
        row = _unflatten(flat, self.output)
        return row[0] if self.single else tuple(row)


class _Recorded(Function):
    """The node of a custom operator: its first argument is the plan, the others the flat arguments."""

    operator: CustomOperator

    @staticmethod
    def forward(ctx: Any, plan: _Plan, *flat: Any) -> Any:
        operator = ctx._forward_cls.operator
        args = tuple(_unflatten(flat, plan.shape))
        answer = operator.run(args, plan.keyword_only)
        ctx._plan = plan
        plan.tensors = tuple(isinstance(v, Tensor) for v in flat)
        if operator.setup is not None:
            more = ({"keyword_only_inputs": plan.keyword_only} if any(p.kwonly for p in operator.schema.parameters)
                else {})
            operator.setup(ctx=ctx, inputs=args, output=answer, **more)
        return plan.taken(answer)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        operator, plan = ctx._forward_cls.operator, ctx._plan
        if operator.backward is None:
            raise RuntimeError(f"Trying to backward through {operator.overload} but no autograd formula was "
                "registered. Please use register_autograd to add one.")
        whole = ctx.needs_input_grad
        ctx.needs_input_grad = tuple(_unflatten(whole[1:], plan.shape))
        try:
            answer = operator.backward(ctx, *_unflatten(grads, plan.output))
        finally:
            ctx.needs_input_grad = whole
        row = answer if isinstance(answer, tuple) else (answer,)
        name = f"function {operator.function.__name__}Backward"
        if any(n is not None for n in plan.shape):
            _check_structure(row, plan.shape)
        elif len(row) != len(plan.shape):
            surplus = [i for i, g in enumerate(row) if i >= len(plan.shape) and g is not None]
            if surplus:
                raise RuntimeError(f"{name} returned a gradient different than None at position {surplus[0] + 1}, but "
                    "the corresponding forward input was not a Variable")
            raise RuntimeError(f"{name} returned an incorrect number of gradients (expected {len(plan.shape) + 1}, got "
                f"{len(row) + 1})")
        flat: list[Any] = []
        for g, n in zip(row, plan.shape):
            flat.extend([g] if n is None else [None] * n if g is None else g)
        for i, g in enumerate(flat):
            if g is not None and not plan.tensors[i]:
                raise RuntimeError(f"{name} returned a gradient different than None at position {i + 1}, but the "
                    "corresponding forward input was not a Variable")
        return (None, *flat)


def _check_structure(row: tuple[Any, ...], shape: tuple[int | None, ...]) -> None:
    """Refuse gradients that are not in the places of the arguments, lists for lists."""
    if (len(row) == len(shape)
            and all(n is None or g is None or (isinstance(g, (list, tuple)) and len(g) == n)
                for g, n in zip(row, shape))):
        return
    from ..utils._pytree import tree_structure

    given = tree_structure((*row, None))
    wanted = tree_structure((*(None if n is None else [None] * n for n in shape), None))
    raise RuntimeError(f"Expected the return from backward to be of the same structure as the inputs. Got: {given} "
        f"(return from backward), {wanted} (inputs)")


def _flatten(row: Any) -> tuple[list[Any], tuple[int | None, ...]]:
    """Lists of tensors opened; for each value the length of its list, None where it was none."""
    flat: list[Any] = []
    shape: list[int | None] = []
    for v in row:
        if isinstance(v, (list, tuple)) and any(isinstance(t, Tensor) for t in v):
            flat.extend(v)
            shape.append(len(v))
        else:
            flat.append(v)
            shape.append(None)
    return flat, tuple(shape)


def _unflatten(flat: Any, shape: tuple[int | None, ...]) -> list[Any]:
    rest = iter(flat)
    return [next(rest) if n is None else [next(rest) for _ in range(n)] for n in shape]
