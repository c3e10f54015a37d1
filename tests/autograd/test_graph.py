"""``torch.autograd.graph``: the abstract node, edges, versions."""

from __future__ import annotations

import importlib

import pytest

from tests.makers import cases, refuses


def test_every_node_is_a_node(torch):
    graph = importlib.import_module(f"{torch.__name__}.autograd.graph")
    node = graph.Node
    a = torch.rand(3, 3, requires_grad=True)
    b = a.exp()
    assert isinstance(b.grad_fn, node) and issubclass(type(b.grad_fn), node)
    assert node not in type(b.grad_fn).mro()
    assert isinstance(b.grad_fn.next_functions[0][0], node)
    for other in (None, 1, node, a):
        assert not isinstance(other, node)
    assert issubclass(node, node) and not issubclass(int, node)

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            assert isinstance(ctx, node) or ctx is not None
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            assert isinstance(ctx, node)
            return g

    out = Same.apply(a)
    assert isinstance(out.grad_fn, node) and issubclass(type(out.grad_fn), node)
    out.sum().backward()
    with pytest.raises(TypeError, match="abstract"):
        node()


def test_what_a_node_tells(torch):
    x = torch.ones(2, requires_grad=True)
    y = (x * 2).exp()
    node = y.grad_fn
    assert node.name() == "ExpBackward0" and type(node).__name__ == "ExpBackward0"
    ((below, number),) = node.next_functions
    assert below.name() == "MulBackward0" and number == 0
    assert below.next_functions[1] == (None, 0) and below.next_functions[0][0].variable is x
    assert below.next_functions[0][0].name().endswith("AccumulateGrad")
    node.metadata["note"] = 1
    assert y.grad_fn.metadata == {"note": 1}
    assert y.grad_fn is node
    assert node._sequence_nr() > below._sequence_nr()
    assert hash(node) == hash(y.grad_fn) and len({node, y.grad_fn}) == 1


def test_input_metadata(torch):
    x = torch.ones(2, 3, requires_grad=True)
    (info,) = x.exp().grad_fn._input_metadata
    assert tuple(info.shape) == (2, 3) and info.dtype is torch.float32 and info.device == torch.device("cpu")
    rows = x.unbind(1)[0].grad_fn._input_metadata
    assert [tuple(r.shape) for r in rows] == [(2,)] * 3


def test_increment_version(torch):
    increment = torch.autograd.graph.increment_version
    a, b = torch.ones(2), torch.ones(2)
    before = a._version
    increment(a)
    increment([a, b])
    assert a._version == before + 2 and b._version == 1
    x = torch.ones(2, requires_grad=True)
    y = x * a
    increment(a)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.sum().backward()
    increment(t for t in (a, b))
    assert a._version == before + 4


def test_gradient_edges(torch):
    edge = torch.autograd.graph.get_gradient_edge
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    e = edge(y)
    assert e.node is y.grad_fn and e.output_nr == 0 and isinstance(e, torch.autograd.graph.GradientEdge)
    (g,) = torch.autograd.grad(y.sum(), edge(x), retain_graph=True)
    assert g.tolist() == [3.0, 3.0]
    (g,) = torch.autograd.grad(e, x, grad_outputs=torch.ones(2))
    assert g.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError,
            match="not possible to get the gradient edge for a Tensor that does not require gradients"):
        edge(torch.ones(1))


def test_public_names(torch):
    graph = importlib.import_module(f"{torch.__name__}.autograd.graph")
    names = ["saved_tensors_hooks", "save_on_cpu", "disable_saved_tensors_hooks", "register_multi_grad_hook",
        "allow_mutation_on_saved_tensors"]
    names += ["Node", "GradientEdge", "get_gradient_edge", "increment_version",
        "set_warn_on_accumulate_grad_stream_mismatch", "RemovableHandle"]
    for name in names:
        assert hasattr(graph, name)
    graph.set_warn_on_accumulate_grad_stream_mismatch(True)


def test_the_public_names(torch):
    assert sorted(torch.autograd.graph.__all__) == [
        "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
        "increment_version", "region_activation_memory_budget", "register_multi_grad_hook", "save_on_cpu",
        "saved_tensors_hooks", "set_override_stale_capture_stream", "set_warn_on_accumulate_grad_stream_mismatch",
    ]


def test_increment_version_takes_tensors(torch):
    increment = torch.autograd.graph.increment_version
    x = torch.ones(1)
    increment(t for t in (x, x))
    assert x._version == 2
    for wrong in (3, None):
        with pytest.raises(RuntimeError, match=r"increment_version expect a Iterable\[Tensor\] as input"):
            increment(wrong)
    with pytest.raises(RuntimeError, match="increment_version expects each element of the iterable to be a tensor"):
        increment([3])


def test_stream_switches_take_booleans(torch):
    for name in ("set_warn_on_accumulate_grad_stream_mismatch", "set_override_stale_capture_stream"):
        switch = getattr(torch.autograd.graph, name)
        assert switch(enabled=False) is None
        with pytest.raises(RuntimeError, match="enabled must be a bool, but got int"):
            switch(3)


def test_save_on_cpu_packs_the_device_and_the_tensor(torch):
    x = torch.ones(2)
    hooks = torch.autograd.graph.save_on_cpu()
    device, kept = hooks.pack_hook(x)
    assert device == x.device and kept is x and hooks.unpack_hook((device, kept)).tolist() == [1.0, 1.0]
    device, kept = torch.autograd.graph.save_on_cpu(pin_memory=True).pack_hook(x)
    assert kept is not x and kept.data_ptr() != x.data_ptr() and kept.tolist() == [1.0, 1.0]


def test_a_handle_for_several_tensors(torch):
    x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    handle = torch.autograd.graph.register_multi_grad_hook((x, y), lambda grads: None)
    assert isinstance(handle, torch.utils.hooks.RemovableHandle) and len(handle.handles) == 2
    again = type(handle).__new__(type(handle))
    again.__setstate__(handle.__getstate__())
    assert again.handles == handle.handles
    again.remove()
    handle.remove()
    assert not x._backward_hooks and not y._backward_hooks
    assert torch.utils.hooks.RemovableHandle.next_id > handle.handles[1].id > handle.handles[0].id


@pytest.mark.parametrize("mode", ["all", "any"])
def test_a_hook_for_several_tensors_runs_in_a_backward(torch, mode):
    def told(grads):
        """What it is told."""

    x = torch.ones(1, requires_grad=True)
    torch.autograd.graph.register_multi_grad_hook([x], told, mode=mode)
    (hook,) = x._backward_hooks.values()
    assert (hook.__name__ == "told") is (mode == "any")
    with pytest.raises(AssertionError, match="expected this hook to be called inside a backward call"):
        hook(torch.ones(1))
    with pytest.raises(AssertionError, match="Expected gradient function to be set"):
        torch.autograd.graph._get_grad_fn_or_grad_acc(torch.ones(1))


def test_tensors_for_a_hook_are_counted(torch):
    row = [torch.ones(1, requires_grad=True)]
    with pytest.raises(TypeError, match="has no len"):
        torch.autograd.graph.register_multi_grad_hook(iter(row), lambda grads: None)
    assert len(torch.autograd.graph.register_multi_grad_hook(iter(row), lambda grads: None, mode="any").handles) == 1


def test_allowing_mutation_as_a_decorator(torch):
    @torch.autograd.graph.allow_mutation_on_saved_tensors()
    def gradient():
        x = torch.ones(2, requires_grad=True)
        y = x.clone()
        z = (y * y).sum()
        y.add_(1)
        z.backward()
        return x.grad.tolist()

    assert gradient.__name__ == "gradient" and gradient() == gradient() == [2.0, 2.0]
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        assert type(context).__name__ == "_AllowMutationOnSavedContext"


def test_the_abstract_node_has_no_answers(torch):
    node = torch.autograd.graph.Node
    public = {"metadata", "name", "next_functions", "register_hook", "register_prehook"}
    assert {n for n in node.__abstractmethods__ if n[0] != "_"} == public

    class Own(node):
        def name(self):
            return super().name()

        def metadata(self):
            return super().metadata()

        def register_hook(self, fn):
            return super().register_hook(fn)

        def register_prehook(self, fn):
            return super().register_prehook(fn)

        next_functions = property(lambda self: super().next_functions)

        def _unknown(self, *args):
            raise NotImplementedError

        _input_metadata = _register_hook_dict = _sequence_nr = _unknown  # PyTorch's are abstract too

    own = Own()
    calls = [own.name, own.metadata, lambda: own.next_functions]
    calls += [lambda f=f: f(None) for f in (own.register_hook, own.register_prehook)]
    for call in calls:
        with pytest.raises(NotImplementedError):
            call()


def test_an_edge_keeps_the_graph_of_a_custom_function(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.ones(1, requires_grad=True)
    edge = torch.autograd.graph.get_gradient_edge(Double.apply(x))
    assert torch.autograd.grad(edge, x)[0].tolist() == [2.0]


@cases([
    ("number", lambda torch: torch.autograd.graph.increment_version(3), RuntimeError,
        "increment_version expect a Iterable[Tensor] as input"),
    ("numbers", lambda torch: torch.autograd.graph.increment_version([3]), RuntimeError,
     "increment_version expects each element of the iterable to be a tensor"),
    ("hook dict", lambda torch: (torch.ones(2, requires_grad=True) * 2).grad_fn._register_hook_dict(3), TypeError,
     "_register_hook_dict expected a variable"),
    ("edge",
        lambda torch: torch.autograd.grad(torch.ones((), requires_grad=True) * 1,
            torch.autograd.graph.GradientEdge(3, 0)), RuntimeError,
     "GradientEdge's first object must be an autograd.graph.Node but got int"),
    ("anomaly", lambda torch: torch.autograd.set_detect_anomaly(3), TypeError,
        "argument 'enabled' (position 1) must be bool, not int"),
    ("threads", lambda torch: torch.autograd.set_multithreading_enabled(3), TypeError,
     "set_multithreading_enabled(): argument 'enabled' (position 1) must be bool, not int"),
])
def test_arguments_of_the_wrong_kind(torch, run, error, message):
    refuses(torch, run, error, message)
