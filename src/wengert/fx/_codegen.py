"""The Python code of a graph."""

from __future__ import annotations

import builtins
import enum
import inspect
import json
import keyword
import math
import os
import pprint
import re
import sys
import types
import typing
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from ..dispatch.torch_dispatch import OpOverload
from ..names.homes import OURS
from ..tensor import Tensor
from ..tensor.types import device
from ..utils import _pytree as pytree
from ..utils._dtype_abbrs import dtype_abbrs
from . import _pytree as fx_pytree
from ._names import home, qualified_name, reachable, type_name
from .node import Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# How operators are written; ``r`` before those that a value on the right may answer.
reflectable_magic_methods = {name: f"{{}} {sign} {{}}" for name, sign in (
    ("add", "+"), ("sub", "-"), ("mul", "*"), ("floordiv", "//"), ("truediv", "/"), ("div", "/"), ("mod", "%"),
    ("pow", "**"), ("lshift", "<<"), ("rshift", ">>"), ("and_", "&"), ("or_", "|"), ("xor", "^"))} | {
    "getitem": "{}[{}]", "matmul": "{} @ {}"}
magic_methods = {name: f"{{}} {sign} {{}}" for name, sign in (
    ("eq", "=="), ("ne", "!="), ("lt", "<"), ("gt", ">"), ("le", "<="), ("ge", ">="))} | {
    "pos": "+{}", "neg": "-{}", "invert": "~{}", **reflectable_magic_methods}
inplace_methods = {f"i{name}": f"{{}} {sign}= {{}}" for name, sign in (
    ("add", "+"), ("and", "&"), ("floordiv", "//"), ("lshift", "<<"), ("mod", "%"), ("mul", "*"), ("matmul", "@"),
    ("or", "|"), ("pow", "**"), ("rshift", ">>"), ("sub", "-"), ("truediv", "/"), ("xor", "^"))} | {
    "setitem": "{}[{}] = {}"}


class _CustomBuiltin(NamedTuple):
    """A name that every generated function has, and the statement that imports it."""

    import_str: str
    obj: Any


_custom_builtins = {
    "inf": _CustomBuiltin("from math import inf", math.inf),
    "nan": _CustomBuiltin("from math import nan", math.nan),
    "NoneType": _CustomBuiltin("NoneType = type(None)", type(None)),
    "torch": _CustomBuiltin("import torch", import_module(OURS)),
    "device": _CustomBuiltin("from torch import device", device),
    "fx_pytree": _CustomBuiltin("import torch.fx._pytree as fx_pytree", fx_pytree),
    "pytree": _CustomBuiltin("import torch.utils._pytree as pytree", pytree),
}
_TAKEN: dict[str, Any] = ({name: object() for name in keyword.kwlist} | vars(builtins)
    | {name: entry.obj for name, entry in _custom_builtins.items()})
_CONTAINERS = {list: "List", dict: "Dict", set: "Set", frozenset: "FrozenSet", tuple: "Tuple"}


def _register_custom_builtin(name: str, import_str: str, obj: Any) -> None:
    _custom_builtins[name] = _CustomBuiltin(import_str, obj)
    _TAKEN[name] = obj


def is_from_torch(obj: Any) -> bool:
    """Whether generated code reaches ``obj`` from ``torch``."""
    if getattr(obj, "__module__", None) is None:
        return False
    module = home(obj) or ""
    return (module == "torch" or module.startswith("torch.")) and obj is not device and reachable(
        qualified_name(obj), obj)


class Namespace:
    """Names that are in use: each object has one, and no two the same."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}
        self._used: set[str] = set()
        self._counts: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """A free name like ``candidate``, which becomes the name of ``obj`` unless that is None."""
        if obj is not None and obj in self._names:
            return self._names[obj]
        if not re.fullmatch(r"[a-zA-Z_]\w*", candidate, re.ASCII):
            candidate = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
            candidate = f"_{candidate}" if candidate[0].isdigit() else candidate
        found = re.fullmatch(r"([a-zA-Z_]\w*?)(?:_(\d+))?", candidate, re.ASCII)
        assert found is not None
        base, number = found.groups()
        if number is None or candidate in self._used:
            count = self._counts.get(base, 0)
            if _TAKEN.get(candidate, obj) is not obj:
                count += 1
                candidate = f"{base}_{count}"
        else:
            count = int(number)
        while candidate in self._used:
            count += 1
            candidate = f"{base}_{count}"
        self._used.add(candidate)
        self._counts[base] = count
        if obj is not None:
            self._names[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Enter a name that has been made."""
        if self._names.setdefault(obj, name) is not name:
            raise AssertionError("obj is already associated")

    def _rename_object(self, obj: Any, name: str) -> None:
        self._names[obj] = name
        self._used.add(name)


@dataclass
class PythonCode:
    """The source of a graph, what it needs of names, and which node each line is of."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None
    _prologue_start: int = 0


class _Stack(NamedTuple):
    """The innermost place in a recorded traceback."""

    file: str
    lineno: str
    name: str
    code: str

    def get_summary_str(self) -> str:
        return f"File: {self.file}:{self.lineno} in {self.name}, code: {self.code}"


def parse_stack_trace(stack_trace: str) -> _Stack | None:
    """The innermost place in the text of a traceback."""
    lines = stack_trace.strip().split("\n")
    for i in range(len(lines) - 2, -1, -1):
        found = re.fullmatch(r'File "(.+)", line (\d+), in (.+)', lines[i].strip())
        if found:
            return _Stack(found[1], found[2], found[3], lines[i + 1].strip())
    return None


def format_target(base: str, target: str) -> str:
    """The expression for the attribute at a path: ``self.layers.0`` needs a ``getattr``."""
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f"getattr({base}, {json.dumps(part)})"
    return base


_COLOURS = {"red": "\x1b[31m", "blue": "\x1b[34m", "dim": "\x1b[2m", "dim_blue": "\x1b[2m\x1b[34m",
    "dim_green": "\x1b[2m\x1b[32m"}


class _Writer:
    """Writes the body of one graph, node by node."""

    def __init__(self, codegen: CodeGen, nodes: Any, root: str, namespace: Namespace, options: dict[str, Any]) -> None:
        self.codegen, self.nodes, self.root, self.namespace, self.options = codegen, nodes, root, namespace, options
        self.free: list[str] = []
        self.body: list[str] = []
        self.globals: dict[str, Any] = {}
        self.wrapped: dict[str, None] = {}
        self.returns = self.summary = ""
        self.last_uses: dict[Node, list[Node]] = {}
        for name, entry in _custom_builtins.items():
            self.add_global(name, entry.obj)
        seen: set[Node] = set()
        for user in reversed(nodes):
            for node in user._input_nodes:
                if node not in seen:
                    seen.add(node)
                    self.last_uses.setdefault(user, []).append(node)

    def paint(self, colour: str, text: str) -> str:
        return f"{_COLOURS[colour]}{text}\x1b[0m" if self.options["colored"] else text

    def add_global(self, hint: str, obj: Any) -> str:
        if is_from_torch(obj):
            return qualified_name(obj)
        name = self.namespace.create_name(hint, obj)
        known = self.globals.setdefault(name, obj)
        if known is not obj and known != obj:
            raise AssertionError(f"Global name {name} already assigned to different object")
        return name

    def type_repr(self, kind: Any) -> str:
        if kind == ():
            return "()"
        name = type_name(kind)
        if isinstance(kind, types.UnionType) and "|" in name:
            return "|".join(map(self.type_repr, typing.get_args(kind)))
        origin = getattr(kind, "__origin__", None)
        if origin is None:
            return self.add_global(name, kind)
        if isinstance(kind, typing._GenericAlias) and origin in _CONTAINERS:  # type: ignore[attr-defined]
            origin = getattr(typing, _CONTAINERS[origin])
        of = self.add_global(type_name(origin), origin)
        inner = getattr(kind, "dims", None) or typing.get_args(kind)
        return f"{of}[{','.join(map(self.type_repr, inner))}]" if inner else of

    def value(self, arg: Any) -> str:
        """An argument as an expression."""
        if isinstance(arg, Node):
            return repr(arg)
        if isinstance(arg, tuple) and hasattr(arg, "_fields"):
            return f"{self.add_global(qualified_name(type(arg)), type(arg))}{tuple(arg)!r}"
        if isinstance(arg, OpOverload):
            return self.add_global(qualified_name(arg), arg)
        if isinstance(arg, enum.Enum):
            return f"{self.add_global(type(arg).__name__, type(arg))}.{arg.name}"
        if isinstance(arg, Tensor):
            return f"torch.Tensor(size={list(arg.shape)}, dtype={str(arg.dtype).rpartition('.')[2]})"
        if isinstance(arg, tuple):
            return f"({', '.join(map(self.value, arg))}{',' if len(arg) == 1 else ''})"
        if isinstance(arg, list):
            return f"[{', '.join(map(self.value, arg))}]"
        if isinstance(arg, slice):
            return f"slice({self.value(arg.start)}, {self.value(arg.stop)}, {self.value(arg.step)})"
        return self.paint("blue", repr(arg))

    def arguments(self, args: Iterable[Any], kwargs: dict[str, Any]) -> str:
        return ", ".join([*map(self.value, args), *(f"{_name(k)} = {self.value(v)}" for k, v in kwargs.items())])

    def annotation(self, node: Node) -> str:
        """`` : int``, or in verbose code ``: "f32[2, 3]"``."""
        value = node.meta.get("val", node.meta.get("tensor_meta", node.meta.get("example_value")))
        if self.options["verbose"] and value is not None and hasattr(value, "shape") and hasattr(value, "dtype"):
            shape = f"[{', '.join(map(str, value.shape))}]"
            if not isinstance(value, Tensor):
                return f': "{dtype_abbrs[value.dtype]}{shape}"'
            stride = f"[{', '.join(map(str, value.stride()))}]" if self.options["include_stride"] else ""
            where = f"{value.device}" if self.options["include_device"] else ""
            text = (f"{self.paint('red', dtype_abbrs[value.dtype])}{self.paint('blue', shape)}"
                f"{self.paint('dim_blue', stride)}{self.paint('dim_green', where)}")
            kind = type(value)
            plain = kind is Tensor or kind.__name__ == "FakeTensor"
            return f': "{text}"' if plain else f': "{kind.__name__}({text})"'
        return "" if node.type is None else f" : {self.type_repr(node.type)}"

    def place(self, node: Node) -> None:
        """In verbose code, a comment says where the call stands in the program."""
        if node.op in ("placeholder", "output"):
            return
        more = ", ".join(f"{k}: {node.meta[k]}" for k in self.options["additional_meta"] or () if k in node.meta)
        custom = {k: str(v)[:40] + "..." if len(str(v)) > 40 else v for k, v in node.meta.get("custom", {}).items()}
        found = parse_stack_trace(node.stack_trace) if node.stack_trace else None
        where = "No stacktrace found for following nodes" if found is None else found.get_summary_str()
        said = f"{f' Annotation: {custom}' if custom else ''} {where}"
        said = f"# {more} #{said}" if more else f"#{said}"
        text = f"\n{self.paint('dim', said)}\n"
        if text != self.summary:
            self.summary = text
            self.body.append(text)

    def emit(self, node: Node) -> None:
        """The statement of a node."""
        target: Any = node.target
        kind = self.annotation(node)
        if os.environ.get("FX_GRAPH_SHOW_META", "0") == "1" and node.meta:
            self.body += ['"""\n', *(f"{k}: {pprint.pformat(str(v), width=80, compact=True)}\n"
                for k, v in node.meta.items()), '"""\n']
        if node.op == "placeholder":
            default = f" = {self.value(node.args[0])}" if node.args else ""
            described = node.meta.get("desc") if self.options["expanded_def"] else None
            self.free.append(f"{_name(target)}{kind}{default}{'' if described is None else f'  # {described}'}")
            raw = target.replace("*", "")
            if raw != repr(node):
                self.body.append(f"{node!r} = {raw}\n")
            return
        if node.op == "output":
            self.returns = "" if node.type is None else f" -> {self.type_repr(node.type)}"
            described = node.meta.get("desc") if self.options["expanded_def"] else None
            self.body.append(_accepted(self.codegen.generate_output, node.args[0], descs=described, repr_fn=self.value))
            return
        if node.op == "call_function":
            self.body.append(self.function_call(node, kind))
            return
        if node.op == "call_method":
            call = f"{format_target(self.value(node.args[0]), target)}({self.arguments(node.args[1:], node.kwargs)})"
        elif node.op == "call_module":
            call = f"{format_target(self.root, target)}({self.arguments(node.args, node.kwargs)})"
        elif node.op == "get_attr":
            call = format_target(self.root, target)
        else:
            raise NotImplementedError(f"node: {node.op} {target}")
        self.body.append(f"{node!r}{kind} = {call}")

    def function_call(self, node: Node, kind: str) -> str:
        target: Any = node.target
        if getattr(target, "__module__", "") == "_operator":
            row = [self.value(a) for a in node.args]
            if target.__name__ in magic_methods:
                return f"{node!r}{kind} = {magic_methods[target.__name__].format(*row)}"
            if target.__name__ in inplace_methods:
                return f"{inplace_methods[target.__name__].format(*row)};  {node!r}{kind} = {row[0]}"
        name = self.add_global(qualified_name(target), target)
        if (name == "getattr" and len(node.args) == 2 and isinstance(node.args[1], str)
                and node.args[1].isidentifier()):
            return f"{node!r}{kind} = {format_target(self.value(node.args[0]), node.args[1])}"
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(name)
        return f"{node!r}{kind} = {name}({self.arguments(node.args, node.kwargs)})"

    def release(self, node: Node) -> None:
        """After the last use of values, they are let go."""
        if node.op == "placeholder":
            return
        gone = [] if node.op == "output" else [*self.last_uses.get(node, ()), *(() if node.users else (node,))]
        ending = f";  {self.paint('dim', ' = '.join([*map(repr, gone), 'None']))}" if gone else ""
        self.body.append(f"{ending}\n")


def _name(text: str) -> str:
    """A name in a graph, which may come from a file: what is none would become other code."""
    if not text.removeprefix("*").removeprefix("*").isidentifier():
        raise ValueError(f"{text!r} cannot be the name of an argument")
    return text


def _accepted(method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a method, which a user's class may define without the newer arguments."""
    known = inspect.signature(method).parameters
    return method(*args, **{k: v for k, v in kwargs.items() if k in known})


class CodeGen:
    """Writes the function of a graph. Subclasses change its signature and what it returns (``graph.set_codegen``).

    >>> from wengert.fx.graph import CodeGen
    >>> CodeGen().gen_fn_def(["x"], "")
    'def forward(self, x):'
    """

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        """The line with ``def``, and further lines if the arguments are to be taken apart."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        if not expanded_def:
            return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"
        rows = (arg.partition("#") for arg in free_vars)
        body = "".join(f"    {arg.rstrip()},{f'  # {said.lstrip()}' if mark else ''}\n" for arg, mark, said in rows)
        return f"def {self._func_name}(\n{body}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any, *, descs: Sequence[str] | None = None,
            repr_fn: Callable[[Any], str] | None = None) -> str:
        """The statement that returns."""
        return f"return {self._shown(output_args, descs, repr_fn or repr)}"

    def _shown(self, output: Any, descs: Sequence[str] | None, repr_fn: Callable[[Any], str]) -> str:
        if descs is None or not isinstance(output, (list, tuple)):
            return repr_fn(output)
        opened, closed = "()" if isinstance(output, tuple) else "[]"
        rows = "".join(f"    {repr_fn(v)},  # {said}\n" for v, said in zip(output, descs))
        return f"{opened}\n{rows}{closed}"

    def process_inputs(self, *args: Any) -> Any:
        """The values of the placeholders, from the arguments of the function."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """What the function returns, from the value of the output node."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names that the code needs besides those in the graph."""
        return []

    def _gen_python_code(self, nodes: Any, root_module: str, namespace: Namespace, **options: Any) -> PythonCode:
        for name in ("stride", "device"):
            options[f"include_{name}"] |= os.environ.get(f"FX_GRAPH_SHOW_{name.upper()}", "0") == "1"
        writer = _Writer(self, nodes, root_module, namespace, options)
        for i, node in enumerate(nodes):
            if options["verbose"]:
                writer.place(node)
            writer.body.append(f"# COUNTER: {i}\n")
            writer.emit(node)
            writer.release(node)
        body = writer.body or ["pass\n"]
        wraps = ""
        if writer.wrapped:
            wrap = writer.add_global("wrap", sys.modules[__package__].wrap)
            wraps = "\n".join(f'{wrap}("{name}")' for name in writer.wrapped)
        if self._body_transformer is not None:
            body = self._body_transformer(body)
        for name, value in self.additional_globals():
            writer.add_global(name, value)
        head = _accepted(self.gen_fn_def, writer.free, writer.returns, expanded_def=options["expanded_def"])
        lines: list[str] = []
        line_of: dict[int, int | None] = {}
        current = None
        for line in "".join(body).split("\n"):
            counter = re.search(r"# COUNTER: (\d+)", line)
            if counter is not None:
                current = int(counter.group(1))
            else:
                line_of[len(lines) + head.count("\n") + 1] = current
                lines.append(line)
        code = "\n".join(f"    {line}" for line in "\n".join(lines).lstrip("\n").split("\n"))
        return PythonCode(f"\n{wraps}\n\n{head}\n{code}", writer.globals, line_of, wraps.count("\n") + 4)


class _PyTreeInfo(NamedTuple):
    """How the arguments and results of a function are nested."""

    orig_args: list[str]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec | None


class _PyTreeCodeGen(CodeGen):
    """For functions whose arguments are nested: they are flattened first, and the result is nested again."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        return pytree.arg_tree_leaves(*inputs)

    def process_outputs(self, out: Any) -> Any:
        spec = self.pytree_info.out_spec
        return out if spec is None else pytree.tree_unflatten(out if isinstance(out, (list, tuple)) else [out], spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False) -> str:
        names = self.pytree_info.orig_args
        if names and names[0] == "self":
            free_vars.insert(0, "self")
        head = super().gen_fn_def(names[:], maybe_return_annotation, expanded_def=expanded_def)
        if not free_vars:
            return head
        typed = [v for v in free_vars if ":" in v]
        if typed:
            head += ("\n    " + "\n    ".join(typed) if expanded_def else
                "\n    " + "".join(f"{v}; " for v in typed) + "\n")
        bare = ", ".join(v.split(":")[0].split("#")[0] for v in free_vars)
        return f"{head}\n    {bare}, = fx_pytree.tree_flatten_spec({self._flattened(names)})"

    def _flattened(self, names: list[str]) -> str:
        spec = self.pytree_info.in_spec
        children = spec.children() if spec.type is tuple else []
        if not (len(children) == 2 and children[0].type is tuple and children[1].type is dict):
            return f"[{', '.join(names)}], self._in_spec"
        n = children[0].num_children
        named = ", ".join(f"'{k}':{v}" for k, v in zip(children[1].context, names[n:]))
        return f"([{', '.join(names[:n])}], {{{named}}}), self._in_spec"

    def generate_output(self, output_args: Any, *, descs: Sequence[str] | None = None,
            repr_fn: Callable[[Any], str] | None = None) -> str:
        if not self.pytree_info.out_spec:
            return super().generate_output(output_args, descs=descs, repr_fn=repr_fn)
        return f"return pytree.tree_unflatten({self._shown(output_args, descs, repr_fn or repr)}, self._out_spec)"
