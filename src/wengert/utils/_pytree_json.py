"""Specifications of trees as JSON, in PyTorch's form."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from ..tensor.types import Size
from ._pytree_nodes import _NAMED, _WRITTEN, SUPPORTED_NODES, TreeSpec, namedtuple, treespec_leaf

PROTOCOL = 1


def dumps(spec: TreeSpec, protocol: int | None) -> str:
    """``spec`` as text."""
    if not isinstance(spec, TreeSpec):
        raise TypeError("treespec_dumps(treespec, protocol): Expected `treespec` to be instance of TreeSpec but got "
            f"item of type {type(spec)}.")
    protocol = PROTOCOL if protocol is None else protocol
    if protocol != PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: {[PROTOCOL]}")
    return json.dumps((protocol, _written(spec)))


def loads(text: str) -> TreeSpec:
    """The specification that was written as ``text``."""
    protocol, schema = json.loads(text)
    if protocol != PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: {[PROTOCOL]}")
    return _read(schema)


def _name(kind: Any) -> str:
    if kind is namedtuple:
        return "collections.namedtuple"
    module = "torch" if kind is Size else kind.__module__
    return f"{module}.{kind.__qualname__}"


def _written(spec: TreeSpec) -> dict[str, Any]:
    kind: Any = spec.type
    if kind is None:
        return {"type": None, "context": None, "children_spec": []}
    written = _WRITTEN.get(kind)
    name = _name(kind)
    if written is not None:
        if written.name is None:
            raise NotImplementedError(
                f"No registered serialization name for {kind} found. Please update your _register_pytree_node call "
                "with a `serialized_type_name` kwarg."
            )
        name = written.name
    context: Any
    if written is not None and written.to_dumpable is not None:
        context = written.to_dumpable(spec.context)
    elif kind is namedtuple:
        if spec.context not in _NAMED:
            raise NotImplementedError(
                f"Can't serialize TreeSpec of namedtuple class {spec.context} because we didn't register a "
                "serializated_type_name. Please register using `_register_namedtuple`."
            )
        context = json.dumps(_NAMED[spec.context])
    elif kind is defaultdict:
        factory = spec.context[0]
        known = {"default_factory_module": getattr(factory, "__module__", None),
            "default_factory_name": getattr(factory, "__qualname__", None)}
        context = json.dumps({**known, "dict_context": spec.context[1]})
    else:
        try:
            context = json.dumps(spec.context)
        except TypeError as e:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register a custom serializer "
                "using _register_pytree_node."
            ) from e
    return {"type": name, "context": context, "children_spec": [_written(c) for c in spec._children]}


def _read(schema: dict[str, Any]) -> TreeSpec:
    name, context = schema["type"], schema["context"]
    if name is None:
        return treespec_leaf()
    names = (
        {_name(k): k for k in SUPPORTED_NODES} | {
            w.name: k for k, w in _WRITTEN.items() if w.name is not None})
    if name not in names:
        raise NotImplementedError(
            f"Deserialization of {name} in pytree is not registered: register its class with register_pytree_node and "
            "a serialized_type_name."
        )
    kind = names[name]
    written = _WRITTEN.get(kind)
    if written is not None and written.from_dumpable is not None:
        context = written.from_dumpable(context)
    elif kind is namedtuple:
        context = {name: cls for cls, name in _NAMED.items()}[json.loads(context)]
    elif kind is defaultdict:
        said = json.loads(context)
        factory = (None if said["default_factory_name"] is None
            else _class(said["default_factory_module"], said["default_factory_name"]))
        context = [factory, said["dict_context"]]
    else:
        context = json.loads(context)
    return TreeSpec(kind, context, [_read(c) for c in schema["children_spec"]])


def _class(module: str, name: str) -> Any:
    """A class that the program has imported already; text is never a reason to import something."""
    import sys

    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type):
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of {module}.{name}: there is no such class in the modules that are loaded")
    return found
