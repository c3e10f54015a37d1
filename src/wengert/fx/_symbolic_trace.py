"""``symbolic_trace``: run a program with proxies, and keep what it does as a graph."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import warnings
from collections import OrderedDict, defaultdict
from itertools import chain
from operator import eq
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from ..functions.checks import _assert
from ..names.absent import absent_from
from ..names.homes import OURS, their_module
from ..nn import Module, Parameter, Sequential
from ..tensor import Tensor
from ..utils import _pytree as pytree
from . import _callers
from ._compatibility import compatibility  # noqa: F401
from ._patching import (  # noqa: F401  programs take these from here
    Patcher,
    _wrapped_fns_to_patch,
    _wrapped_methods_to_patch,
    find_proxy,
    wrapped,
)
from .graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from .graph_module import GraphModule
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase, base_types

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import ModuleType

    from .node import Argument, Node

_VARIABLE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_patch_wrapped_functions, _autowrap_check = Patcher.wrap_listed, Patcher.wrap_known
_Patcher, _find_proxy, _create_wrapped_func = Patcher, find_proxy, wrapped
_orig_module_call, _orig_module_getattr = Module.__call__, Module.__getattr__
_CONSTANTS = (Tensor, pytree.TreeSpec)
__getattr__ = absent_from(__name__)
_proxyable_classes: dict[type, None] = {}


class _Tracing:
    depth = 0


def is_fx_tracing() -> bool:
    """Whether a trace is running."""
    return _Tracing.depth > 0


is_fx_symbolic_tracing = is_fx_tracing


class ProxyableClassMeta(type):
    """A metaclass: instances made of proxies while a program is traced become a node that makes the instance."""

    def __init__(cls, name: str, bases: Any, attrs: Any) -> None:
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs) if is_fx_tracing() else None
        if proxy is not None:
            return proxy.tracer.create_proxy("call_function", cls, args, kwargs)
        made = cls.__new__(cls)  # type: ignore[call-overload]
        cls.__init__(made, *args, **kwargs)  # type: ignore[misc]
        return made


class PHBase:
    """Stands in ``concrete_args`` for an argument that is not fixed."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """A ``PH`` whose attributes go to the node."""

    def __init__(self, ph_key: str | None = None) -> None:
        self.ph_key = ph_key


def _give_attributes(source: Any, node: Any) -> None:
    for name in dir(source):
        value = getattr(source, name)
        if not callable(value) and not name.startswith("__") and not hasattr(node, name):
            setattr(node, name, value)


def _annotation(f: Any, name: str) -> Any:
    """The type of an argument. Our own annotations are texts, PyTorch's are not; a program's stay as they are."""
    said = None if f is Sequential.forward else inspect.get_annotations(f).get(name)
    if isinstance(said, str) and (f.__globals__.get("__package__") or "").partition(".")[0] == OURS:
        try:
            return eval(said, {**f.__globals__, "Any": Tensor})  # the layers that we make by a table say Any
        except NameError:
            return None
    return said


def _with_plain_arguments(f: FunctionType, count: int) -> FunctionType:
    """``f``, whose ``*args`` and ``**kwargs`` are ordinary arguments, so that a proxy can be given for each."""
    code = f.__code__.replace(co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0,
        co_flags=f.__code__.co_flags & ~_VARIABLE)
    return FunctionType(code, f.__globals__, f.__name__, f.__defaults__, f.__closure__)


class Tracer(TracerBase):
    """Traces programs; subclasses decide what becomes one node.

    ``is_leaf_module(m, path)``: whether the call of a module is one node; otherwise its forward is traced.

    >>> class Through(torch.fx.Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return False
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    >>> [node.name for node in Through().trace(model).nodes]
    ['input_1', '_0_weight', '_0_bias', 'linear', 'relu', 'output']
    """

    _qualname_counter: dict[str, int] = defaultdict(int)
    root: Module

    def __init__(self, autowrap_modules: tuple[ModuleType, ...] = (math,),
            autowrap_functions: Iterable[Callable[..., Any]] = (), param_shapes_constant: bool = False) -> None:
        """``autowrap_modules``, ``autowrap_functions``: what becomes a node when it is called with a proxy.

        ``param_shapes_constant``: whether the shapes of parameters are numbers, which control flow can use.
        """
        self._autowrap_function_ids = {id(f) for f in autowrap_functions} | {
            id(v) for name, v in chain.from_iterable(vars(m).items() for m in autowrap_modules)
            if not name.startswith("_") and callable(v)}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = OrderedDict()
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}
        self.tensor_attrs: dict[Any, str] = {}
        self._parameter_proxies: dict[str, Proxy] = {}

    # -- what programs may decide --------------------------------------------------------------------------------------

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether the call of ``m`` is one node: for the modules of ``torch.nn``, except ``Sequential``."""
        module = type(m).__module__
        if module.partition(".")[0] == OURS:
            module = their_module(module, type(m).__qualname__) or ""
        return module.startswith(("torch.nn", "torch.ao.nn")) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The path of ``mod`` in the module that is traced."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
        else:
            path = next((name for name, m in self.root.named_modules() if m is mod), None)
        if path is None:
            raise NameError("module is not installed as a submodule")
        return path

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the call of a module gives: the proxy of a node for leaves, else ``forward(*args, **kwargs)``."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))) as scope:
            calls = self.num_calls.get(path, 0)
            key = f"{scope.module_path}@{calls}" if calls else scope.module_path
            self.module_stack[key] = (path, scope.module_type)
            self.num_calls[path] = calls + 1
            if self.is_leaf_module(m, path):
                result = self.create_proxy("call_module", path, args, kwargs)
            else:
                result = forward(*args, **kwargs)
            self.module_stack.popitem(last=True)
        return result

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What reading ``module.attr`` gives: for parameters, the proxy of a node."""
        members: Any = ()
        if isinstance(attr_val, Parameter):
            members = self.root.named_parameters()
        elif self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            members = self.root.named_buffers()
        for path, value in members:
            if value is attr_val:
                if path not in parameter_proxy_cache:
                    more: dict[str, Any] = {}
                    if self.param_shapes_constant and isinstance(attr_val, Parameter):
                        more["proxy_factory_fn"] = functools.partial(self._sized_proxy, path, attr_val)
                    parameter_proxy_cache[path] = self.create_proxy("get_attr", path, (), {}, **more)
                return parameter_proxy_cache[path]
        return attr_val

    def _sized_proxy(self, path: str, param: Parameter, node: Node) -> Proxy:
        return ParameterProxy(self, node, path, param)

    def create_arg(self, a: Any) -> Argument:
        """A value as the argument of a node: tensors and modules as attributes of the root."""
        if isinstance(a, Parameter):
            path = next((name for name, p in self.root.named_parameters() if p is a), None)
            if path is None:
                raise NameError("parameter is not a member of this module")
            known = self._parameter_proxies.get(path)  # layers read their own without asking for the attribute
            if known is None:
                known = self._parameter_proxies[path] = self.proxy(self.create_node("get_attr", path, (), {}))
            return known.node
        if isinstance(a, (Tensor, Module)):
            rows = self.root.named_buffers() if isinstance(a, Tensor) else self.root.named_modules()
            for name, value in rows:
                if value is a:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(self.create_arg(v) for v in a), {})
        if isinstance(a, _CONSTANTS):
            path = self.tensor_attrs.get(a)
            if path is None:
                path = self.get_fresh_qualname("_tensor_constant" if isinstance(a, Tensor) else "_tree_spec_constant")
                self.tensor_attrs[a] = path
                setattr(self.root, path, a)
            return self.create_node("get_attr", path, (), {})
        if type(a) in _proxyable_classes:
            path = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, path, a)
            return self.create_node("get_attr", path, (), {})
        return super().create_arg(a)

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name that the root has no attribute of yet."""
        i = 0
        while hasattr(self.root, f"{prefix}{i}"):
            i += 1
        return f"{prefix}{i}"

    # -- the trace -----------------------------------------------------------------------------------------------------

    def trace(self, root: Module | Callable[..., Any], concrete_args: Any = None) -> Graph:
        """The graph of a module's forward, or of a function.

        ``concrete_args``: values of arguments that are fixed, by name; containers whose leaves are ``fx.PH`` say how
        an argument is nested.
        """
        fn: Any
        if isinstance(root, Module):
            self.root = root
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
            fn = getattr(type(root), self.traced_func_name)
            self.root_module_name = root._get_name()
            self.submodule_paths = {m: name for name, m in root.named_modules()}
        else:
            self.root = Module()
            fn = root
        self.graph = Graph(tracer_cls=type(self))
        code = getattr(fn, "__code__", None)
        if code is not None:
            self.graph._co_fields = {"co_name": code.co_name, "co_filename": code.co_filename,
                "co_firstlineno": code.co_firstlineno}
        self.tensor_attrs = {value: f"{path}.{name}".lstrip(".") for path, m in self.root.named_modules()
            for name, value in vars(m).items() if isinstance(value, _CONSTANTS)}
        if not isinstance(fn, FunctionType):
            raise AssertionError(f"Expected FunctionType, got {type(fn)}")
        namespace = fn.__globals__
        _Tracing.depth += 1
        try:
            called, args = self.create_args_for_root(fn, isinstance(root, Module), concrete_args)
            self._parameter_proxies = {}
            with self._patched() as patcher:
                patcher.wrap_listed()
                for names in (namespace, *map(vars, self._autowrap_search)):
                    patcher.wrap_known(names, self._autowrap_function_ids)
                returns = _annotation(inspect.unwrap(called), "return")
                self.create_node("output", "output", (self.create_arg(called(*args)),), {}, type_expr=returns)
        finally:
            _Tracing.depth -= 1
            self.submodule_paths = None
        return self.graph

    @contextlib.contextmanager
    def _patched(self) -> Iterator[Patcher]:
        """Calls of modules and reading their parameters come here."""

        @functools.wraps(_orig_module_getattr)
        def read(mod: Any, attr: str) -> Any:
            return self.getattr(attr, _orig_module_getattr(mod, attr), self._parameter_proxies)

        @functools.wraps(_orig_module_call)
        def called(mod: Any, *args: Any, **kwargs: Any) -> Any:
            patcher.wrap_known(getattr(getattr(mod, "forward", mod), "__globals__", {}), self._autowrap_function_ids)
            return self.call_module(mod, lambda *a, **k: _orig_module_call(mod, *a, **k), args, kwargs)

        with Patcher() as patcher:
            patcher.patch_method(Module, "__getattr__", read, deduplicate=False)
            patcher.patch_method(Module, "__call__", called, deduplicate=False)
            yield patcher

    def create_args_for_root(self, root_fn: Any, is_module: bool, concrete_args: Any = None) -> tuple[Any, list[Any]]:
        """The function to run, and a proxy for each of its arguments."""
        analysed = inspect.unwrap(root_fn)
        code: CodeType = analysed.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        if is_module and total == 0:
            raise RuntimeError("``self`` argument cannot be part of *args expansion!")
        args: list[Any] = [self.root] if is_module else []
        if isinstance(concrete_args, tuple) and concrete_args and code.co_flags & _VARIABLE and total == 1:
            for i, value in enumerate(concrete_args):
                made = self.create_proxy("placeholder", f"input_{i}", (), {})
                if isinstance(value, PHBase) and value is not PH:
                    _give_attributes(value, made.node)
                args.append(made)
            return root_fn, args
        names = code.co_varnames[is_module:total]
        if isinstance(concrete_args, tuple):
            if len(names) != len(concrete_args):
                raise RuntimeError(f"Tracing expected {len(names)} arguments but got {len(concrete_args)} concrete "
                    "arguments")
            concrete_args = dict(zip(names, concrete_args))
        sig = inspect.signature(analysed)
        args.extend(self._input(name, concrete_args, sig, analysed) for name in names)
        if code.co_kwonlyargcount or code.co_flags & _VARIABLE:
            more = iter(code.co_varnames[total:])
            for flag, star in ((inspect.CO_VARARGS, "*"), (inspect.CO_VARKEYWORDS, "**")):
                if code.co_flags & flag:
                    args.append(self._input(star + next(more), concrete_args, sig, analysed))
            root_fn = _with_plain_arguments(root_fn, len(args))
        flat, spec = pytree.tree_flatten(tuple(args))
        if all(child.is_leaf() for child in spec.children()):
            return root_fn, args
        codegen = self.graph._codegen = _PyTreeCodeGen(_PyTreeInfo(list(code.co_varnames[:total]), spec, None))

        def flattened(*leaves):  # type: ignore[no-untyped-def]  # whose annotation would be the graph's
            made, out_spec = pytree.tree_flatten(root_fn(*pytree.tree_unflatten(list(leaves), spec)))
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return made

        return flattened, flat

    def _input(self, name: str, concrete_args: Any, sig: inspect.Signature, analysed: Any) -> Any:
        """The proxy of an argument, or its fixed value."""
        starred = name[0] == "*"
        default = () if starred or sig.parameters[name].default is inspect.Parameter.empty else (
            sig.parameters[name].default,)
        if concrete_args is None or name not in concrete_args:
            return self.create_proxy("placeholder", name, default, {}, type_expr=_annotation(analysed, name))
        count = 0

        def fixed(x: Any) -> Any:
            nonlocal count
            count += 1
            out = self.create_proxy("placeholder", f"{name}_{count}", default, {})
            if isinstance(x, PHBase):
                if x is not PH:
                    _give_attributes(x, out.node)
                return out
            if x is None:
                said = f"{name} has been specialized to have value None but got another value"
                self.create_proxy("call_function", _assert_is_none, (out, said), {})
            elif type(x) in base_types and not isinstance(x, Tensor):
                same = self.create_proxy("call_function", eq, (out, x), {})
                said = f"{name} has been specialized to have value {x} but got another value"
                self.create_proxy("call_function", _assert, (same, said), {})
            else:
                warnings.warn(f"Was not able to add assertion to guarantee correct input {name} to specialized "
                    "function. It is up to the user to make sure that your inputs match the inputs you specialized the "
                    "function with.", stacklevel=4)
            return x

        return pytree.tree_map(fixed, concrete_args[name])


@contextlib.contextmanager
def _maybe_revert_all_patches() -> Iterator[None]:
    """Inside, modules and functions are as they are outside a trace."""
    current = Patcher.current
    if current is not None:
        current.revert_all_patches()
    try:
        yield
    finally:
        if current is not None:
            current.reapply_all_patches()


def wrap(fn_or_name: Any) -> Any:
    """Let calls of a function of this module, or of one named here, become nodes instead of being traced.

    It is called at the top level of a module, before or after the function is defined, or as a decorator.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    namespace = _callers.calling_module(1)
    name = fn_or_name.__name__ if callable(fn_or_name) else fn_or_name
    _wrapped_fns_to_patch[(id(namespace), name)] = namespace
    return fn_or_name


def symbolic_trace(root: Module | Callable[..., Any], concrete_args: Any = None) -> GraphModule:
    """The program of a module or function as a :class:`GraphModule`.

    Its operations are recorded, not its control flow: what depends on the value of an input raises ``TraceError``.
    ``concrete_args`` fixes arguments.

    >>> class Net(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = torch.nn.Linear(2, 3)
    ...     def forward(self, x):
    ...         return torch.relu(self.layer(x)).sum(dim=1)
    >>> traced = torch.fx.symbolic_trace(Net())
    >>> print(traced.code.strip())
    def forward(self, x):
        layer = self.layer(x);  x = None
        relu = torch.relu(layer);  layer = None
        sum_1 = relu.sum(dim = 1);  relu = None
        return sum_1
    >>> traced(torch.ones(4, 2)).shape
    torch.Size([4])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


@wrap
def _assert_is_none(value: Any, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)

