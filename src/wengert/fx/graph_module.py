"""``GraphModule``: a module whose forward is the code of a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
import sys
import traceback
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import nn, serialization
from ..names.homes import OURS, THEIRS
from ..nn import Module, Parameter
from ..nn.modules.module import _addindent
from ..tensor import Tensor
from ._codegen import _custom_builtins, _PyTreeCodeGen
from ._names import home
from .graph import Graph, PythonCode

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

__all__ = ["GraphModule", "reduce_graph_module"]
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"  # in ``meta``: attributes that copies keep


class _Sources:
    """Keeps the generated sources, so that tracebacks show their lines."""

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}
        self.numbers = itertools.count()

    def enter(self, source: str, names: dict[str, Any], co_fields: dict[str, Any]) -> str:
        key = f"<eval_with_key>.{next(self.numbers)}"
        if "co_filename" in co_fields:
            key += f" from {co_fields['co_filename']}:{co_fields['co_firstlineno']} in {co_fields['co_name']}"
        self.sources[key] = source
        linecache.lazycache(key, {**names, "__file__": key, "__name__": key, "__loader__": self})
        return key

    def get_source(self, name: str) -> str | None:
        """The source that is shown in tracebacks, as loaders of modules give it."""
        return self.sources.get(name)


_sources = _Sources()


def _forward_from_src(source: str, names: dict[str, Any], co_fields: dict[str, Any] | None = None) -> Any:
    """The function ``forward`` that a source defines."""
    names = dict(names)
    key = _sources.enter(source, names, co_fields or {})
    exec(compile(source, key, "exec", dont_inherit=True), names)
    return names.pop("forward")


def _import_block(names: dict[str, Any]) -> str:
    """Statements that import the names."""
    lines = set()
    for name, obj in names.items():
        if name in _custom_builtins:
            lines.add(_custom_builtins[name].import_str)
        else:
            found = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", None)
            if found is None:
                raise TypeError(f"the module cannot be pickled: its code needs {name}, which is {obj!r} and has no "
                    "name to be imported by")
            lines.add(f"from {home(obj)} import {found} as {name}")
    return "\n".join(sorted(lines))


_PACKAGE = (str(Path(__file__).parents[1]), "<wengert", "<__array")  # whose frames are below the generated line


class _CodeOnlyModule(Module):
    """Has the attributes of a graph module whose graph is to be found from its code."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def reduce_graph_module(body: dict[Any, Any], import_block: str) -> Module:
    """The module of a pickle: its code is run with proxies, which gives the graph again."""
    from ._symbolic_trace import Tracer

    if __name__.partition(".")[0] == OURS and sys.modules.get(THEIRS) is not sys.modules[OURS]:
        import_block = import_block.replace("import torch\n", f"import {OURS} as torch\n").replace(
            "import torch.", f"import {OURS}.").replace("from torch ", f"from {OURS} ").replace(
            "from torch.", f"from {OURS}.")
    forward = _forward_from_src(f"{import_block}\n{body.get('_code') or body['code']}", {})
    tracer_cls = body.get("_tracer_cls") or Tracer

    class KeepModules(tracer_cls):  # type: ignore[misc,valid-type]
        def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
            return True

    whole = type("_CodeOnlyModule", (_CodeOnlyModule,), {"forward": forward})(body)
    graph = KeepModules().trace(whole, **body.get("_tracer_extras", {}))
    graph._tracer_cls = tracer_cls
    made = GraphModule(whole, graph, class_name=body.get("_graphmodule_cls_name", "GraphModule"))
    for name, value in body.items():
        if not hasattr(made, name):
            setattr(made, name, value)
    return made


def _place(module: Module, path: str) -> tuple[Module, str]:
    """The module that the last part of a path is in, made where it is missing."""
    *above, name = path.split(".")
    for part in above:
        inner = getattr(module, part, None)
        if inner is None:
            inner = Module()
            setattr(module, part, inner)
        module = inner
    return module, name


def _assign_attr(value: Any, to_module: Module, target: str) -> None:
    module, name = _place(to_module, target)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


def _get_attr(model: Module, attr_name: str) -> Any:
    for part in attr_name.split("."):
        model = getattr(model, part)
    return model


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    above = target.rpartition(".")[0]
    while above:
        try:
            if _get_attr(to_module, above) is _get_attr(from_module, above):
                return  # a module that has been taken over whole
        except AttributeError:
            pass
        above = above.rpartition(".")[0]
    _assign_attr(_get_attr(from_module, target), to_module, target)


class _WrappedCall:
    """Calls a graph module, and shows the generated lines if one of them fails."""

    def __init__(self, cls: type, cls_call: Any) -> None:
        self.cls, self.cls_call = cls, cls_call

    @staticmethod
    def _shown(frame: traceback.FrameSummary) -> str:
        number = frame.lineno or 1
        lines = linecache.getlines(frame.filename)
        said = f"Call using an FX-traced Module, line {number} of the traced Module's generated forward function:"
        marker = "~" * len(frame.line or "") + "~~~ <--- HERE"
        return "\n".join([traceback.format_exc(), said, "".join(lines[max(number - 2, 0) : number]), marker,
            "\n".join(lines[number : number + 2])])

    def __call__(self, obj: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if self.cls_call is not None:
                return self.cls_call(obj, *args, **kwargs)
            return super(self.cls, obj).__call__(*args, **kwargs)  # type: ignore[misc,arg-type]
        except Exception as error:
            stack = traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__))
            frame = next((f for f in reversed(stack) if not f.filename.startswith(_PACKAGE)), None)
            if frame is None or "eval_with_key" not in frame.filename:
                raise
            print(self._shown(frame), file=sys.stderr)
            raise error.with_traceback(None)  # noqa: B904  the same error


class GraphModule(Module):
    """A module that a graph is the program of: what the graph refers to, and a ``forward`` made from it.

    After a change of the graph, ``recompile`` makes the forward anew.

    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()))
    >>> for node in traced.graph.nodes:
    ...     if node.op == "call_module" and node.target == "1":
    ...         with traced.graph.inserting_after(node):
    ...             new = traced.graph.call_function(torch.tanh, node.args)
    ...         node.replace_all_uses_with(new)
    ...         traced.graph.erase_node(node)
    [output]
    >>> _ = traced.recompile()
    >>> print(traced.code.strip())
    def forward(self, input):
        input_1 = input
        _0 = getattr(self, "0")(input_1);  input_1 = None
        tanh = torch.tanh(_0);  _0 = None
        return tanh
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        # Each instance has a class of its own, as its forward is in the class.
        base = next(c for c in cls.__mro__ if c.__qualname__.rpartition(".")[2] != "GraphModuleImpl")
        return super().__new__(type("GraphModuleImpl", (base,), {"__module__": base.__module__}))

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        """``root``: the module that the graph's paths lead into, or the values by path."""
        super().__init__()
        type(self).__name__ = class_name
        targets = [(node, node.target) for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, Module):
            self.training = getattr(root, "training", True)
            if isinstance(root, _CodeOnlyModule):
                for rows in (root.named_children(), root.named_buffers(), root.named_parameters()):
                    for name, _ in rows:
                        _copy_attr(root, self, name)
            for _, path in targets:
                _copy_attr(root, self, path)  # type: ignore[arg-type]
        elif isinstance(root, dict):
            for node, path in targets:
                if path not in root:
                    raise RuntimeError(f"Node {node} referenced target {path} but that target was not provided in "
                        "``root``!")
            for path in sorted((path for _, path in targets), key=lambda t: t.count(".")):  # type: ignore[union-attr]
                _assign_attr(root[path], self, path)  # type: ignore[index,arg-type]
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        cls = graph._tracer_cls
        self._tracer_cls = None if cls is None or "<locals>" in cls.__qualname__ else cls
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[str, Any] = {}
        self._replace_hooks: list[Callable[..., Any]] = []
        self._create_node_hooks: list[Callable[..., Any]] = []
        self._erase_node_hooks: list[Callable[..., Any]] = []
        self._deepcopy_hooks: list[Callable[..., Any]] = []

    @property
    def graph(self) -> Graph:
        """The graph. Assigning another one recompiles."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of the forward."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self) -> PythonCode:
        """Make the forward of the graph as it is now."""
        codegen = self._graph._codegen
        if isinstance(codegen, _PyTreeCodeGen):
            self._in_spec, self._out_spec = codegen.pytree_info.in_spec, codegen.pytree_info.out_spec
        made = self._graph.python_code("self")
        self._code, self._lineno_map, self._prologue_start = made.src, made._lineno_map, made._prologue_start
        cls: Any = type(self)
        cls.forward = _forward_from_src(self._code, made.globals, self._graph._co_fields)
        if "_wrapped_call" not in vars(cls):
            cls._wrapped_call = _WrappedCall(cls, vars(cls).get("__call__"))
        for child in self.children():
            if isinstance(child, GraphModule):
                child.recompile()

        def call_wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
            return self._wrapped_call(self, *args, **kwargs)

        cls.__call__ = call_wrapped
        return made

    # -- submodules ----------------------------------------------------------------------------------------------------

    def add_submodule(self, target: str, m: Module) -> bool:
        """Enter a module at a path, with empty modules on the way; gives whether that could be done."""
        try:
            module, name = _place(self, target)
        except AttributeError:
            return False
        if not isinstance(module, Module):
            return False
        module.add_module(name, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take out the module at a path; gives whether there was one."""
        above, _, name = target.rpartition(".")
        try:
            module = self.get_submodule(above)
        except AttributeError:
            return False
        if not isinstance(getattr(module, name, None), Module):
            return False
        delattr(module, name)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take out every module that no node calls, reads, or goes through."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op not in ("call_module", "get_attr"):
                continue
            parts = node.target.split(".")  # type: ignore[union-attr]
            used.update(itertools.accumulate(parts, lambda a, b: f"{a}.{b}"))
            if node.op == "call_module":
                try:
                    inner = self.get_submodule(node.target).named_modules()  # type: ignore[arg-type]
                except AttributeError:
                    continue
                used.update(f"{node.target}.{name}" for name, _ in inner if name)
        for name in [name for name, _ in self.named_modules() if name not in used]:
            self.delete_submodule(name)

    # -- copies and files ----------------------------------------------------------------------------------------------

    def __reduce__(self) -> Any:
        body = self.__dict__.copy()
        made = self.recompile()
        body["_code"] = self._code
        del body["_graph"]
        return reduce_graph_module, (body, _import_block(made.globals))

    def __deepcopy__(self, memo: Any) -> GraphModule:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        body = copy.deepcopy(self.__dict__, memo)
        GraphModule.__init__(made, _CodeOnlyModule(body), body["_graph"])
        for name in ("_state_dict_hooks", "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
                "_replace_hooks", "_create_node_hooks", "_erase_node_hooks", "_deepcopy_hooks", "meta"):
            if name in body:
                setattr(made, name, body[name])
        for name, value in made.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(made, name, value)
        for hook in self._deepcopy_hooks:
            hook(made)
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, self.graph)
        made.meta = self.meta
        return made

    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Write the module as Python source and a state dict to a folder, which can then be imported."""
        folder = Path(folder)
        folder.mkdir(exist_ok=True)
        serialization.save(self.state_dict(), folder / "state_dict.pt")
        imports = "\n".join(entry.import_str for entry in _custom_builtins.values())
        lines = [f"\nimport torch\n{imports}\n\nfrom torch.nn import *\nclass {module_name}(torch.nn.Module):",
            "    def __init__(self):", "        super().__init__()"]
        pickled = []
        for name, module in self.named_children():
            made = repr(module)
            if type(module) not in _WRITTEN:
                serialization.save(module, folder / f"{name}.pt")
                pickled.append(name)
                said = made.replace("\r", " ").replace("\n", " ")
                made = f"torch.load(r'{folder / name}.pt', weights_only=False)) # {said}"
                lines.append(f"        setattr(self, '{name}', {made}")
                continue
            lines.append(f"        setattr(self, '{name}', {made})")
        for name, buffer in self._buffers.items():
            if buffer is not None:
                made = f"torch.empty({list(buffer.shape)}, dtype={buffer.dtype})"
                lines.append(f"        self.register_buffer('{name}', {made})")
        for name, param in self._parameters.items():
            if param is not None:
                made = f"torch.nn.Parameter(torch.empty({list(param.shape)}, dtype={param.dtype}))"
                lines.append(f"        setattr(self, '{name}', {made})")
        lines += [f"        self.load_state_dict(torch.load(r'{folder}/state_dict.pt'))", _addindent(self.code, 4), ""]
        (folder / "module.py").write_text("\n".join(lines), encoding="utf-8")
        (folder / "__init__.py").write_text("from .module import *", encoding="utf-8")
        if pickled:
            warnings.warn("Was not able to save the following children modules as reprs -saved as pickled files "
                f"instead: {pickled}", stacklevel=2)

    # -- text ----------------------------------------------------------------------------------------------------------

    def print_readable(self, print_output: bool = True, include_stride: bool = False, include_device: bool = False,
            colored: bool = False, *, fast_sympy_print: bool = False, expanded_def: bool = False,
            additional_meta: list[str] | None = None) -> str:
        """Print, and give, the code as a class, with shapes and places in the program where they are known."""
        return _print_readable(self, self._get_name(), print_output, include_stride=include_stride,
            include_device=include_device, colored=colored, expanded_def=expanded_def, additional_meta=additional_meta)

    def __str__(self) -> str:
        return "\n".join([super().__str__(), self._code,
            "# To see more debug info, please use `graph_module.print_readable()`"])

    # -- hooks ---------------------------------------------------------------------------------------------------------

    @contextmanager
    def _set_replace_hook(self, f: Callable[..., Any]) -> Iterator[None]:
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    def _register_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.remove(f)

    def _register_create_node_hook(self, f: Callable[..., Any]) -> None:
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f: Callable[..., Any]) -> None:
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: Callable[..., Any]) -> None:
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f: Callable[..., Any]) -> None:
        self._erase_node_hooks.remove(f)


# Layers that to_folder writes as source.
_WRITTEN = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def _print_readable(module: GraphModule, name: str, print_output: bool = True, **options: Any) -> str:
    source = module.graph.python_code("self", verbose=True, **options).src.lstrip("\n")
    text = _addindent(f"class {name}(torch.nn.Module):\n{source}", 4)
    inner = [_print_readable(child, child_name, False, **{**options, "expanded_def": False})
        for child_name, child in module.named_children() if isinstance(child, GraphModule)]
    text += _addindent("\n".join(["", *inner]), 4)
    if print_output:
        print(text)
    return text
