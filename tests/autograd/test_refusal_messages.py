"""What is refused at the edges of the contract, in the words that programs and tests look for."""

from __future__ import annotations

import importlib
import types
import warnings

import pytest
from tests.makers import cases, refuses, scalar_leaf


def _run_backward(*args, **kwargs):
    def run(torch):
        x = torch.ones(2, requires_grad=True)
        made = {"sum": x.sum(), "x": x, "one": torch.ones(()), "edge": torch.autograd.graph.get_gradient_edge(x * 2),
            "plain": torch.ones(2)}

        def given(a):
            if isinstance(a, (tuple, list)):
                return type(a)(given(e) for e in a)
            return made.get(a, a) if isinstance(a, str) else a

        torch.autograd.Variable._execution_engine.run_backward(*map(given, args),
            **{k: given(v) for k, v in kwargs.items()})

    return run


@cases([
    ("tensors", _run_backward(["sum"], (None,), False, False, ()), RuntimeError,
        "tensors argument is expected to be a tuple, but got list"),
    ("grads", _run_backward(("sum",), [None], False, False, ()), RuntimeError,
        "grad_tensors argument is expected to be a tuple, but got list"),
    ("counts", _run_backward(("sum",), ("one", "one"), False, False, ()), RuntimeError,
        "got 1 tensors and 2 gradients"),
    ("inputs", _run_backward(("sum",), ("one",), False, False, ["x"]), RuntimeError,
        "inputs to run_backward must be a tuple"),
    ("no tensor", _run_backward((3,), (None,), False, False, ()), RuntimeError,
        "element 0 of tensors tuple is neither a Tensor nor a GradientEdge"),
    ("no grad", _run_backward(("plain",), (None,), False, False, ()), RuntimeError,
        "element 0 of tensors does not require grad and does not have"),
    ("none", _run_backward(("sum",), (None,), False, False, ()), RuntimeError,
     "element 0 of gradients tuple is None, but the corresponding Tensor requires grad"),
    ("edge", _run_backward(("edge",), (None,), False, False, ()), RuntimeError,
     "element 0 of gradients tuple is None, but the corresponding output is a GradientEdge"),
    ("number", _run_backward(("sum",), (3,), False, False, ()), RuntimeError,
        "element 0 of gradients tuple is not a Tensor or None"),
])
def test_the_engine_takes_tuples(torch, run, error, message):
    refuses(torch, run, error, message)


def _set(name, value):
    return lambda torch: setattr(torch.ones(2, requires_grad=True) * 1, name, value)


def _del(name):
    return lambda torch: delattr(torch.ones(2, requires_grad=True), name)


def _grad(make):
    return lambda torch: setattr(torch.ones(2, 2, requires_grad=True), "grad", make(torch))


@cases([
    *((name, _set(name, 1), AttributeError, f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable")
      for name in ("grad_fn", "is_leaf", "output_nr", "retains_grad", "shape", "dtype")),
    ("del grad_fn", _del("grad_fn"), AttributeError,
        "attribute 'grad_fn' of 'torch._C.TensorBase' objects is not writable"),
    ("del hooks", _del("_post_accumulate_grad_hooks"), RuntimeError,
        "Deletion of _post_accumulate_grad_hooks not allowed!"),
    ("device", _grad(lambda torch: torch.ones(2, 2, device="meta")), RuntimeError,
     "attempting to assign a gradient with device type 'meta' to a tensor with device type 'cpu'. Please ensure that "
     "the gradient and the tensor are on the same device"),
    ("layout", _grad(lambda torch: torch.ones(2, 2).to_sparse_csr()), RuntimeError,
     "attempting to assign a gradient to a tensor that has data of a different type"),
])
def test_attributes_that_cannot_be_set(torch, run, error, message):
    refuses(torch, run, error, message)


def test_a_sparse_gradient_may_be_assigned_to_a_dense_leaf(torch):
    x = torch.ones(2, requires_grad=True)
    x.grad = torch.ones(2).to_sparse()
    assert x.grad.is_sparse


def test_hooks_after_accumulation_are_seen(torch):
    x = torch.ones(2, requires_grad=True)
    assert x._post_accumulate_grad_hooks is None
    handle = x.register_post_accumulate_grad_hook(lambda p: None)
    assert len(x._post_accumulate_grad_hooks) == 1
    handle.remove()
    assert not x._post_accumulate_grad_hooks


def _marking(name):
    def run(torch):
        class Marks(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                setattr(ctx, name, 3)
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return g * 2

        Marks.apply(torch.ones(2, requires_grad=True))

    return run


@cases(
    [(name, _marking(name), RuntimeError, f"autograd internal error: {name} attribute is expected to be a tuple but is")
         for name in ("dirty_tensors", "non_differentiable", "to_save")])
def test_marks_of_a_context_are_tuples(torch, run, error, message):
    refuses(torch, run, error, message)


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


NO_SUBCLASS = "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible."


def _detaching(torch):
    class Forgets(torch.Tensor):
        def detach(self):
            return torch.ones(2)

    torch.nn.Parameter(torch.ones(2).as_subclass(Forgets))


def _policy(torch):
    class Wrapper(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    torch.Tensor._make_wrapper_subclass(Wrapper, (2,), dispatch_sizes_strides_policy="none")


@cases([
    ("make", lambda torch: torch.Tensor._make_subclass(int, torch.ones(2)), TypeError, NO_SUBCLASS),
    ("as", lambda torch: torch.ones(2).as_subclass(int), TypeError, NO_SUBCLASS),
    ("wrapper", lambda torch: torch.Tensor._make_wrapper_subclass(int, (2,)), TypeError, NO_SUBCLASS),
    ("no class", lambda torch: torch.Tensor._make_subclass(3, torch.ones(2)), TypeError,
        "cls must be a type (got int)"),
    ("integers", lambda torch: torch.Tensor._make_subclass(torch.Tensor, torch.arange(2), True), RuntimeError,
     "Only Tensors of floating point and complex dtype can require gradients"),
    ("parameter", lambda torch: torch.nn.Parameter(torch.arange(2)), RuntimeError,
     "Only Tensors of floating point and complex dtype can require gradients"),
    ("detach", _detaching, RuntimeError,
        "requires that detach() returns an instance of the same type, but return type Tensor was found instead"),
    ("policy", _policy, ValueError, "Unknown sizes_strides_policy: none; expected 'strides' or 'sizes'"),
])
def test_classes_of_tensors(torch, run, error, message):
    refuses(torch, run, error, message)


@cases([
    ("alpha", lambda torch: torch.add(torch.ones(2), torch.ones(2), alpha=scalar_leaf(torch)), TypeError,
        "must be Number, not Tensor"),
    ("full", lambda torch: torch.full((2,), scalar_leaf(torch)), TypeError,
        "full(): argument 'fill_value' (position 2) must be Number, not Tensor"),
    ("full_like", lambda torch: torch.full_like(torch.ones(2), scalar_leaf(torch)), TypeError,
     "full_like(): argument 'fill_value' (position 2) must be Number, not Tensor"),
    ("new_full", lambda torch: torch.ones(2).new_full((2,), scalar_leaf(torch)), TypeError,
     "new_full(): argument 'fill_value' (position 2) must be Number, not Tensor"),
    ("a row", lambda torch: torch.full((2,), torch.ones(1)), TypeError,
        "full(): argument 'fill_value' (position 2) must be Number, not Tensor"),
    ("arange", lambda torch: torch.arange(scalar_leaf(torch)), TypeError, "must be Number, not Tensor"),
])
def test_a_recorded_tensor_is_no_number(torch, run, error, message):
    """Its history would be lost without a word."""
    refuses(torch, run, error, message)


def test_an_unrecorded_tensor_is_a_number(torch):
    number = torch.tensor(3.0)
    assert torch.full((2,), number).tolist() == [3.0, 3.0]
    assert torch.add(torch.ones(2), torch.ones(2), alpha=number).tolist() == [4.0, 4.0]
    assert torch.arange(number).tolist() == [0.0, 1.0, 2.0]


def _loss(name, shape=(3, 4), target=None, **weights):
    def run(torch):
        given = {k: torch.ones(n, requires_grad=True) for k, n in weights.items()}
        labels = torch.zeros(3, *shape[2:], dtype=torch.long) if target is None else torch.rand(*shape)
        getattr(torch.nn.functional, name)(torch.rand(*shape), labels, **given)

    return run


def _no_gradient(function, argument):
    return (f"The function '{function}' is not differentiable with respect to argument '{argument}'. This input cannot "
        "have requires_grad True.")


@cases([
    ("nll", _loss("nll_loss", weight=4), RuntimeError, _no_gradient("nll_loss_forward", "weight")),
    ("cross entropy", _loss("cross_entropy", weight=4), RuntimeError, _no_gradient("nll_loss_forward", "weight")),
    ("pictures", _loss("nll_loss", (3, 4, 2, 2), weight=4), RuntimeError, _no_gradient("nll_loss2d_forward", "weight")),
    ("margin", _loss("multi_margin_loss", weight=4), RuntimeError, _no_gradient("multi_margin_loss", "weight")),
    ("bce", _loss("binary_cross_entropy", target=1, weight=4), RuntimeError,
        _no_gradient("binary_cross_entropy", "weight")),
    ("logits", _loss("binary_cross_entropy_with_logits", target=1, weight=4), RuntimeError,
     _no_gradient("binary_cross_entropy_with_logits", "weight")),
    ("pos_weight", _loss("binary_cross_entropy_with_logits", target=1, pos_weight=4), RuntimeError,
     _no_gradient("binary_cross_entropy_with_logits", "pos_weight")),
    ("mean",
        lambda torch: torch.nn.functional.batch_norm(torch.rand(3, 2), torch.ones(2, requires_grad=True),
            torch.ones(2)), RuntimeError,
     _no_gradient("native_batch_norm", "running_mean")),
    ("var",
        lambda torch: torch.nn.functional.batch_norm(torch.rand(3, 2), torch.ones(2), torch.ones(2, requires_grad=True),
            training=True),
     RuntimeError, _no_gradient("native_batch_norm", "running_var")),
])
def test_arguments_without_a_derivative(torch, run, error, message):
    refuses(torch, run, error, message)


def test_weights_may_ask_for_a_gradient_where_nothing_is_recorded(torch):
    weight = torch.ones(4, requires_grad=True)
    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(torch.rand(3, 4), torch.zeros(3, dtype=torch.long), weight=weight)
        torch.nn.functional.binary_cross_entropy(torch.rand(3, 4), torch.rand(3, 4), weight=weight)
    assert not loss.requires_grad


def test_weights_of_targets_in_probabilities_have_a_gradient(torch):
    weight = torch.ones(4, requires_grad=True)
    torch.nn.functional.cross_entropy(torch.rand(3, 4), torch.rand(3, 4), weight=weight).backward()
    assert weight.grad.shape == (4,)


@cases([
    ("zeta", lambda torch: torch.special.zeta(scalar_leaf(torch), torch.ones(())).backward(), NotImplementedError,
     "the derivative for 'zeta' is not implemented."),
    ("igammac", lambda torch: torch.special.gammaincc(scalar_leaf(torch), torch.ones(())).backward(),
     NotImplementedError, "the derivative for 'igammac: input' is not implemented."),
    ("unique", lambda torch: torch.unique(torch.rand(3, requires_grad=True)).sum().backward(), NotImplementedError,
     "the derivative for '_unique2' is not implemented."),
    ("unique rows", lambda torch: torch.unique(torch.rand(3, 2, requires_grad=True), dim=0).sum().backward(),
        NotImplementedError,
     "the derivative for 'unique_dim' is not implemented."),
    ("runs", lambda torch: torch.unique_consecutive(torch.rand(3, 2, requires_grad=True), dim=0).sum().backward(),
        NotImplementedError,
     "the derivative for 'unique_consecutive' is not implemented."),
])
def test_derivatives_that_are_not_implemented(torch, run, error, message):
    refuses(torch, run, error, message)


@cases([
    ("map", lambda torch: torch.ones(2).map_(torch.ones(2, dtype=torch.float64), max), TypeError,
     "map_: expected torch.FloatTensor for 'other' (got torch.DoubleTensor)"),
    ("map2", lambda torch: torch.ones(2).map2_(torch.ones(2), torch.arange(2), max), TypeError,
     "map2_: expected torch.FloatTensor for argument 'y' (got torch.LongTensor)"),
    ("apply", lambda torch: torch.ones(2).to_sparse().apply_(abs), RuntimeError,
        "Cannot access data pointer of Tensor that doesn't have storage"),
])
def test_functions_of_elements_refuse_other_types(torch, run, error, message):
    refuses(torch, run, error, message)


@cases([
    *((name, lambda torch, name=name: getattr(torch.sparse_coo_tensor([[0, 0]], [1.0, 1.0], (2,)), name)(),
        RuntimeError,
       f"{name} requires coalesced input") for name in ("sin_", "relu_", "sqrt_", "erfinv_")),
])
def test_writes_that_want_coalesced_tensors(torch, run, error, message):
    refuses(torch, run, error, message)


@cases([
    ("set", lambda torch: torch.ones(2).set_(torch.ones(2, device="meta").untyped_storage()), RuntimeError,
     'Attempted to set the storage of a tensor on device "cpu" to a storage on different device "meta".'),
])
def test_a_storage_of_another_device_is_refused(torch, run, error, message):
    refuses(torch, run, error, message)


@cases([
    ("asarray", lambda torch: torch.asarray(importlib.import_module("numpy").float32(3), copy=False), RuntimeError,
        "can't alias NumPy scalars."),
])
def test_numpy_scalars_have_no_memory_to_share(torch, run, error, message):
    refuses(torch, run, error, message)


def test_apply_does_nothing_to_a_tensor_without_values(torch):
    x = torch.ones(2, device="meta")
    assert x.apply_(lambda v: 1 / 0) is x


# -- gradients by name ------------------------------------------------------------------------------------------------


def test_gradients_by_name(torch):
    a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    found = torch.autograd.grad(a * b, {"a": a, "b": b})
    assert type(found) is dict
    assert {k: g.item() for k, g in found.items()} == {"a": 3.0, "b": 2.0}
    (a * a * b).backward(inputs={"only": a})
    assert (a.grad.item(), b.grad) == (12.0, None)


def test_gradients_by_name_that_nothing_depends_on(torch):
    a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    found = torch.autograd.grad(a * 2, {"a": a, "b": b}, allow_unused=True)
    assert (found["a"].item(), found["b"]) == (2.0, None)
    assert torch.autograd.grad(a * 2, {"b": b}, materialize_grads=True)["b"].item() == 0.0


@cases([
    ("grad",
        lambda torch: torch.autograd.grad(scalar_leaf(torch) * 2, types.MappingProxyType({"a": scalar_leaf(torch)})),
        TypeError,
     "`inputs` argument to `grad()` must be a dict, not mappingproxy. Other Mapping types are not supported."),
    ("backward",
        lambda torch: (scalar_leaf(torch) * 2).backward(inputs=types.MappingProxyType({"a": scalar_leaf(torch)})),
        TypeError,
     "`inputs` argument to `backward()` must be a dict, not mappingproxy. Other Mapping types are not supported."),
    ("empty", lambda torch: torch.autograd.grad(scalar_leaf(torch) * 2, {}), RuntimeError,
        "`inputs` argument to `grad()` cannot be empty."),
])
def test_names_come_in_a_dictionary(torch, run, error, message):
    refuses(torch, run, error, message)


# -- maps -------------------------------------------------------------------------------------------------------------


def _escaped(use):
    def run(torch):
        seen = []
        torch.vmap(lambda x: seen.append(x) or x * 2)(torch.ones(3, 2))
        use(seen[0])

    return run


def _mapped(f, shape=(3, 2), **options):
    return lambda torch: torch.vmap(lambda x: f(torch, x), **options)(torch.ones(shape))


@cases([
    ("escaped", _escaped(lambda x: x + 1), RuntimeError,
        "your tensor may have escaped from inside a function being vmapped"),
    ("method", _escaped(lambda x: x.sin()), RuntimeError,
        "your tensor may have escaped from inside a function being vmapped"),
    ("in place", _escaped(lambda x: x.mul_(2)), RuntimeError,
        "your tensor may have escaped from inside a function being vmapped"),
    ("classes", lambda torch: torch.vmap(torch.nn.functional.one_hot)(torch.tensor([0, 1])), RuntimeError,
     "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument."),
    ("clone", _mapped(lambda torch, x: x.clone(memory_format=torch.channels_last), (2, 2, 3, 4, 5)), RuntimeError,
     "NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format torch.preserve_format or "
     "torch.contiguous_format (got ChannelsLast)"),
    ("contiguous", _mapped(lambda torch, x: x.contiguous(memory_format=torch.channels_last), (2, 2, 3, 4, 5)),
        RuntimeError,
     "NYI: querying is_contiguous inside of vmap for memory_format"),
    ("is_contiguous", _mapped(lambda torch, x: x.is_contiguous(memory_format=torch.channels_last), (2, 2, 3, 4, 5)),
        RuntimeError,
     "NYI: querying is_contiguous inside of vmap for memory_format"),
    ("rand", _mapped(lambda torch, x: torch.rand(2, out=torch.zeros(2)), randomness="different"), RuntimeError,
     "vmap: We do not support calling out variants of random operations inside of vmap. Please use non-out variants as "
     "a workaround"),
    ("bernoulli", _mapped(lambda torch, x: torch.bernoulli(x, out=torch.zeros(2)), randomness="different"),
        RuntimeError,
     "vmap: We do not support calling out variants of random operations inside of vmap."),
])
def test_maps(torch, run, error, message):
    refuses(torch, run, error, message)


def test_random_fills_alike_for_all_examples(torch):
    found = torch.vmap(lambda x: x.normal_(), randomness="same")(torch.ones(3, 2))
    assert found[0].tolist() == found[1].tolist() == found[2].tolist() != [1.0, 1.0]


def test_tangents_of_another_structure(torch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, push = torch.func.linearize(lambda x: x * 2, torch.ones(2))
    with pytest.raises(RuntimeError,
            match=r"Expected the tangents TreeSpec\(tuple, None, \[\*,\s+\*\]\) to have the same argspec"):
        push(torch.ones(2), torch.ones(2))


# -- warnings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("use", "kind", "message"), [
    pytest.param(lambda torch: torch.asarray(torch.ones(2, requires_grad=True)), UserWarning,
                 "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False.",
                 id="asarray"),
    pytest.param(lambda torch: torch.set_autocast_cpu_enabled(False), DeprecationWarning,
                 "torch.set_autocast_cpu_enabled(enabled) is deprecated. Please use torch.set_autocast_enabled('cpu', "
                 "enabled) instead.", id="set"),
    pytest.param(lambda torch: torch.is_autocast_cpu_enabled(), DeprecationWarning,
                 "torch.is_autocast_cpu_enabled() is deprecated. Please use torch.is_autocast_enabled('cpu') instead.",
                 id="is"),
])  # fmt: skip
def test_warnings_of_what_is_old(torch, use, kind, message):
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)  # else once in a process
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            use(torch)
    finally:
        torch.set_warn_always(before)
    assert any(issubclass(w.category, kind) and message in str(w.message) for w in caught)


# -- higher derivatives of operators with several steps ---------------------------------------------------------------


@pytest.mark.parametrize("name", ["sampled", "ctc"])
def test_a_recorded_gradient_outlives_the_first_graph(torch, name):
    """The second backward goes through the steps of the operator as well as through the operator itself."""
    torch.manual_seed(0)
    if name == "sampled":
        picture = torch.randn(1, 1, 4, 4, dtype=torch.float64)
        x = torch.zeros(1, 2, 2, 2, dtype=torch.float64).uniform_(-0.7, 0.7).requires_grad_()
        f = lambda x: torch.nn.functional.grid_sample(picture, x, align_corners=False)  # noqa: E731
    else:
        if torch.__name__ == "torch":
            pytest.skip("PyTorch has no second derivative of it")
        x = torch.randn(5, 1, 3, dtype=torch.float64, requires_grad=True)
        targets = torch.ones(1, 2, dtype=torch.long)
        f = lambda x: torch.nn.functional.ctc_loss(  # noqa: E731
            x.log_softmax(2), targets, torch.tensor([5]), torch.tensor([2]))
    (g,) = torch.autograd.grad((f(x) ** 2).sum(), x, create_graph=True)
    g.sum().backward()
    first = x.grad.clone()
    assert torch.autograd.gradgradcheck(lambda x: (f(x) ** 2).sum(), x)
    x.grad = None
    (g,) = torch.autograd.grad((f(x) ** 2).sum(), x, create_graph=True)
    total = g.sum()
    total.backward(retain_graph=True)
    assert torch.allclose(x.grad, first)
    total.backward()
    assert torch.allclose(x.grad, 2 * first)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        total.backward()
