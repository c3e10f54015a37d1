"""``make_fx``: run a function on real tensors and record the operators of ``torch.ops.aten`` that it reaches.

What ``symbolic_trace`` cannot follow is no obstacle here: gradients are recorded as the operators that compute them,
and control flow goes the way that the example inputs send it.
"""

from __future__ import annotations

import functools
import inspect
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ...dispatch.torch_dispatch import aten
from ...library.fake_tensor import FakeTensorMode
from ...names.absent import absent_from
from ...nn import Module, Parameter
from ...tensor import Tensor
from ...utils import _pytree as pytree
from ...utils._python_dispatch import TorchDispatchMode
from .._symbolic_trace import PH, Tracer
from ..graph_module import GraphModule

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..proxy import Proxy

__all__ = ["PythonKeyTracer", "ProxyTorchDispatchMode", "get_isolated_graphmodule", "get_proxy_mode", "make_fx"]


class PythonKeyTracer(Tracer):
    """Makes the nodes of ``make_fx``: modules are no nodes, and tensors from outside are constants."""

    def __init__(self) -> None:
        super().__init__(autowrap_modules=())
        # By the identity of the tensor, and of its array: backwards compute with other tensors of the arrays that were
        # saved. What has the identity is kept, so that nothing else can take it.
        self.proxies: dict[int, tuple[Any, Proxy]] = {}

    def known(self, value: Any) -> Proxy | None:
        """The proxy of a tensor that is the value of a node."""
        if not isinstance(value, Tensor):
            return None
        found = self.proxies.get(id(value)) or self.proxies.get(id(value._wg_data))
        return None if found is None else found[1]

    def call_module(self, m: Module, forward: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        return attr_val

    def create_arg(self, a: Any) -> Any:
        if isinstance(a, Tensor):
            known = self.known(a)
            if known is not None:
                return known.node
            if isinstance(a, Parameter) and not any(a is p for p in self.root.parameters()):
                name = self.get_fresh_qualname("_param_constant")
                setattr(self.root, name, a)
                return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def track(self, value: Any, proxy: Proxy) -> None:
        """Note what each tensor in the value of a node is."""
        if isinstance(value, Tensor):
            self.proxies[id(value)] = value, proxy
            self.proxies[id(value._wg_data)] = value._wg_data, proxy
            proxy.node.meta.setdefault("tensor_meta", _metadata(value))
            proxy.node.meta.setdefault("val", value.detach())
        elif isinstance(value, (tuple, list)):
            for i, part in enumerate(value):
                if part is not None:
                    self.track(part, proxy[i])  # type: ignore[index]


def _metadata(value: Tensor) -> Any:
    from ..passes.shape_prop import _extract_tensor_metadata

    return _extract_tensor_metadata(value)


class ProxyTorchDispatchMode(TorchDispatchMode):
    """Records every operator that is called inside."""

    def __init__(self, tracer: PythonKeyTracer, decomposition_table: dict[Any, Callable[..., Any]]) -> None:
        super().__init__()
        self.tracer, self.decomposition_table = tracer, decomposition_table
        self.enabled = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not self.enabled:
            return func(*args, **kwargs)
        found = self.decomposition_table.get(func)
        if found is not None:
            with self:
                made = found(*args, **kwargs)
            if made is not NotImplemented:
                return made
        source = self.tracer.known(args[0]) if func._opname == "detach" else None
        if source is not None:  # the same value
            value = func(*args, **kwargs)
            self.tracer.proxies[id(value)] = value, source
            return value
        inputs = self.tracer.create_arg(args), self.tracer.create_arg(kwargs)
        value = func(*args, **kwargs)
        if func._opname == "lift_fresh":
            func = aten.lift_fresh_copy.default  # as the constant must stay as it is
        self.enabled = False  # the metadata is found by operators too
        try:
            node = self.tracer.create_node("call_function", func, *inputs, name=func._opname)
            written = func._opname.endswith("_") and args and isinstance(args[0], Tensor)
            self.tracer.track(args[0] if written else value, self.tracer.proxy(node))
        finally:
            self.enabled = True
        return value


__getattr__ = absent_from(__name__)
_active: list[ProxyTorchDispatchMode] = []


def get_proxy_mode() -> ProxyTorchDispatchMode | None:
    """The mode of the ``make_fx`` that is running."""
    return _active[-1] if _active else None


def make_fx(f: Callable[..., Any], decomposition_table: dict[Any, Callable[..., Any]] | None = None,
        tracing_mode: str = "real", _allow_non_fake_inputs: bool = False, *, pre_dispatch: bool = False,
        record_module_stack: bool = False, **more: Any) -> Callable[..., GraphModule]:
    """A function that takes example inputs and gives the program that ``f`` is for them, in operators of ``aten``.

    ``decomposition_table``: functions that are recorded in place of single operators. ``tracing_mode``: whether the
    operators run on the inputs (``"real"``), or on tensors without numbers (``"fake"``).

    >>> from wengert.fx.experimental.proxy_tensor import make_fx
    >>> print(make_fx(lambda x: torch.sin(x) * 2)(torch.ones(2)).code.strip())
    def forward(self, x_1):
        sin = torch.ops.aten.sin.default(x_1);  x_1 = None
        mul = torch.ops.aten.mul.Tensor(sin, 2);  sin = None
        return mul
    """
    if tracing_mode not in ("real", "fake"):
        raise NotImplementedError(f"make_fx(tracing_mode={tracing_mode!r}): shapes are numbers here, not symbols; use "
            "'real' or 'fake'")

    @functools.wraps(f)
    def traced(*args: Any) -> GraphModule:
        tracer = PythonKeyTracer()
        fakes = FakeTensorMode() if tracing_mode == "fake" else None
        given = args if fakes is None else pytree.tree_map_only(Tensor, fakes.from_tensor, args)

        @functools.wraps(f)
        def recorded(*proxies: Any) -> Any:
            leaves, spec = pytree.tree_flatten(proxies)
            values = pytree.tree_leaves(given)
            for value, proxy in zip(values, leaves):
                if isinstance(value, Tensor):
                    tracer.track(value, proxy)
            mode = ProxyTorchDispatchMode(tracer, decomposition_table or {})
            _active.append(mode)
            try:
                with fakes or nullcontext(), mode:
                    result = f(*pytree.tree_unflatten(values, spec))
            finally:
                _active.pop()
            return pytree.tree_map(lambda v: v if (proxy := tracer.known(v)) is None else proxy, result)

        plain = inspect.unwrap(f)
        named = inspect.isfunction(plain) and not plain.__code__.co_flags & inspect.CO_VARARGS
        target: Any = recorded if named else _with_arguments(recorded, len(args))
        graph = tracer.trace(target, concrete_args=tuple(pytree.tree_map(lambda _: PH, args)))
        name = type(f).__name__ if isinstance(f, Module) else getattr(f, "__name__", "GraphModule")
        return GraphModule(tracer.root, graph, name)

    return traced


def get_isolated_graphmodule(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
        tracing_mode: str = "real", decomposition_table: dict[Any, Callable[..., Any]] | None = None) -> GraphModule:
    """The program of one call, whose only inputs are the leaves of its arguments."""
    leaves, spec = pytree.tree_flatten((args, kwargs))

    def called(leaves: list[Any]) -> Any:
        inner_args, inner_kwargs = pytree.tree_unflatten(leaves, spec)
        return func(*inner_args, **inner_kwargs)

    return make_fx(called, decomposition_table, tracing_mode)(leaves)


def _with_arguments(f: Callable[..., Any], n: int) -> Any:
    """``f`` as a function of ``arg0``, ``arg1`` and so on."""
    names = ", ".join(f"arg{i}" for i in range(n))
    return eval(f"lambda {names}: f({names})", {"f": f})
