"""What graphs remember: ``_saved_*``, ``_raw_saved_*``, the hooks on it, and what happens when it is written to or
freed.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import tempfile
import threading
import uuid
import warnings
import weakref

import pytest


@pytest.fixture
def hooks(torch):
    return torch.autograd.graph.saved_tensors_hooks


def same(x):
    return x


def leaf(torch, n=5):
    return torch.randn(n, requires_grad=True)


def result(torch, n=5):
    return 1 + torch.randn(n, requires_grad=True)


# -- hooks of a context -----------------------------------------------------------------------------------------------


def test_hooks_see_every_save_once_and_every_use_once(torch, hooks):
    counts = [0, 0]

    def pack(x):
        counts[0] += 1
        return x

    def unpack(x):
        counts[1] += 1
        return x

    x, y = torch.ones(4, requires_grad=True), torch.ones(4)
    with hooks(pack, unpack):
        out = x * y
    assert counts == [1, 0]
    out.sum().backward()
    assert counts == [1, 1]

    counts[:] = [0, 0]
    with hooks(pack, unpack):
        out = x * x
    assert counts == [2, 0]
    out.sum().backward()
    assert counts == [2, 2]


def test_what_hooks_make_is_what_the_gradient_uses(torch, hooks):
    with hooks(lambda x: 2 * x, lambda x: x):
        a = leaf(torch)
        y = a * a
        assert torch.equal(y.grad_fn._saved_self, 2 * a) and torch.equal(y.grad_fn._saved_other, 2 * a)
        y.sum().backward()
        assert torch.allclose(a.grad, 4 * a)
    a = leaf(torch)
    y = a * a
    assert torch.equal(y.grad_fn._saved_self, a)

    with hooks(lambda x: 2 * x, lambda x: x / 2):
        a = leaf(torch)
        y = a.exp()
        assert torch.equal(y, y.grad_fn._saved_result)
        y.sum().backward()
        assert torch.allclose(a.grad, y)


def test_the_innermost_hooks_apply(torch, hooks):
    with hooks(lambda x: 3 * x, lambda x: 3 * x):
        b = leaf(torch)
        with hooks(lambda x: 5 * x, lambda x: 5 * x):
            a = leaf(torch)
            y = a * a
        z = b * b
    y.sum().backward()
    z.sum().backward()
    assert torch.allclose(a.grad, 2 * 25 * a) and torch.allclose(b.grad, 2 * 9 * b)


def test_pack_hooks_get_the_arguments_themselves(torch, hooks):
    given = []
    a = leaf(torch)
    b = a + 1
    with hooks(lambda x: given.append(x) or x, same):
        a * b
    assert {id(x) for x in given} == {id(a), id(b)}
    given.clear()
    with hooks(lambda x: given.append(x.grad_fn) or x, same):
        (a * b).sin()
    assert any(fn is not None and fn.name() == "MulBackward0" for fn in given)
    given.clear()
    p = torch.nn.Parameter(torch.ones(2, 5))
    with hooks(lambda x: given.append(isinstance(x, torch.nn.Parameter)) or x, same):
        a * p
    assert any(given)


def test_pack_hooks_run_without_recording(torch, hooks):
    seen = []
    a = leaf(torch)

    def pack(x):
        seen.append((torch.is_grad_enabled(), (x * 2).requires_grad))
        return x

    with hooks(pack, same):
        a.exp()
    assert seen == [(False, False)]


def test_python_numbers_are_not_packed(torch, hooks):
    given = []
    a = leaf(torch)
    with hooks(lambda x: given.append(tuple(x.shape)) or x, same):
        (a * 2.5).sum()
        (a / 3).sum()
        torch.nn.functional.softmax(a, 0)
    assert given == [(5,)]


def test_wrong_answers(torch, hooks):
    with hooks(same, lambda x: 1):
        y = leaf(torch).exp()
    with pytest.raises(TypeError,
            match="Output of saved tensor unpack_hook expected to be a Tensor but got result of type"):
        y.sum().backward()
    with pytest.raises(TypeError, match="missing 1 required positional argument"), hooks(lambda x, y: x, same):
        leaf(torch).exp()
    with hooks(same, lambda: None):
        y = leaf(torch).exp()
    with pytest.raises(TypeError, match="positional argument"):
        y.sum().backward()


def test_a_pack_hook_may_not_write_to_what_it_is_given(torch, hooks):
    def increment(x):
        x += 1
        return x

    for run in (lambda a: a.exp(), lambda a: a * a):
        with pytest.raises(RuntimeError,
                match="A saved tensor pack hook is modifying its input in place"), hooks(increment, same):
            run(result(torch))
    y = torch.exp(leaf(torch))
    with pytest.raises(RuntimeError, match="A saved tensor pack hook is modifying its input in place"):
        y.grad_fn._raw_saved_result.register_hooks(increment, same)


def test_errors_of_hooks_reach_the_caller(torch, hooks):
    class Mine(Exception):
        pass

    class PackFails(hooks):
        def __init__(self):
            super().__init__(self.fail, same)

        def fail(self, x):
            raise Mine("pack")

    class UnpackFails(hooks):
        def __init__(self):
            super().__init__(same, self.fail)

        def fail(self, x):
            raise Mine("unpack")

    a = leaf(torch)
    with pytest.raises(Mine, match="pack"), PackFails():
        a.exp()
    with UnpackFails():
        y = a.exp()
    with pytest.raises(Mine, match="unpack"):
        y.sum().backward()
    y = a.exp()  # nothing is left behind
    y.sum().backward()


def test_warnings_of_hooks_arrive(torch, hooks):
    a = torch.ones(5, requires_grad=True)
    with hooks(lambda x: warnings.warn("packed", stacklevel=1), same), warnings.catch_warnings(record=True) as got:
        warnings.simplefilter("always")
        a * a
    assert len(got) == 2


def test_a_context_that_a_hook_leaves_open_does_not_outlive_the_backward(torch, hooks):
    def unpack(x):
        hooks(lambda x: 1 / 0, same).__enter__()
        return x

    a = leaf(torch)
    with hooks(same, unpack):
        y = a.exp()
    y.sum().backward()
    a.exp().sum().backward()
    assert torch.allclose(a.grad, 2 * a.exp())


def test_hooks_and_second_derivatives(torch, hooks):
    with hooks(lambda x: 2 * x, lambda x: x / 2):
        a = torch.tensor([2.0, 3.0], requires_grad=True)
        y = a**3
        (g,) = torch.autograd.grad(y.sum(), a, create_graph=True)
        g.sum().backward()
    assert torch.allclose(a.grad, 6 * a)


def test_what_is_unpacked_can_be_written_to_without_harm(torch, hooks):
    class Sin(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            before = a._version
            x.add_(1)
            assert a._version == before
            return g

    a = torch.tensor(1.0, requires_grad=True)
    replacement = a.clone()
    with hooks(lambda x: replacement, same):
        b = Sin.apply(a)
    b.backward()


def test_hooks_on_what_functions_save(torch, hooks):
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            middle = x.exp()
            out = middle * y
            ctx.save_for_backward(x, middle, out, None)
            return out

        @staticmethod
        def backward(ctx, g):
            x, middle, out, nothing = ctx.saved_tensors
            assert nothing is None
            kinds.append((x is a or not packs, x.is_leaf, out.grad_fn is not None))
            return g * out, g * middle

    kinds = []
    for packs in (False, True):
        a, b = torch.tensor([0.5], requires_grad=True), torch.tensor([2.0], requires_grad=True)
        count = []
        if packs:
            with hooks(lambda x: count.append(1) or x, same):
                y = Both.apply(a, b)
            assert len(count) == 3
        else:
            y = Both.apply(a, b)
        y.sum().backward()
        assert torch.allclose(a.grad, a.exp() * b) and torch.allclose(b.grad, a.exp())
    assert [k[1] for k in kinds] == [True, True]


def test_hooks_on_intermediate_values_of_functions(torch, hooks):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            square = x * x
            ctx.save_for_backward(x, square)
            return square * x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            return 3 * ctx.saved_tensors[1] * g

    a = leaf(torch)
    with hooks(lambda x: x.detach().numpy(), lambda x: torch.from_numpy(x)):
        y = Cube.apply(a)
    y.sum().backward()
    assert torch.allclose(a.grad, 3 * a * a)


# -- switching off ----------------------------------------------------------------------------------------------------


def test_hooks_can_be_forbidden(torch, hooks):
    disable = torch.autograd.graph.disable_saved_tensors_hooks
    with disable("not here"):
        with pytest.raises(RuntimeError, match="not here"), hooks(same, same):
            pass
        with disable("nor here"), pytest.raises(RuntimeError, match="nor here"), hooks(same, same):
            pass
        with pytest.raises(RuntimeError, match="not here"), hooks(same, same):
            pass
    with hooks(same, same):
        pass
    with hooks(same, same), pytest.raises(RuntimeError, match="too late"), disable("too late"):
        pass
    with hooks(same, same):
        leaf(torch).exp().sum().backward()

    @disable("in a function")
    def run():
        with hooks(same, same):
            pass

    with pytest.raises(RuntimeError, match="in a function"):
        run()
    with hooks(same, same):
        pass


def test_contexts_can_be_used_again(torch, hooks):
    packed = []
    context = hooks(lambda x: packed.append(1) or x, same)
    a = leaf(torch)
    for _ in range(2):
        with context:
            a.exp()
    a.exp()
    assert len(packed) == 2


# -- ready-made hooks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pin", [False, True])
def test_save_on_cpu(torch, pin):
    for make in (leaf, result):
        for dtype in (torch.float32, torch.float64):
            with torch.autograd.graph.save_on_cpu(pin and torch.cuda.is_available()):
                a = make(torch).to(dtype).detach().requires_grad_()
                y = a * a
                assert torch.equal(y.grad_fn._saved_self, a) and torch.equal(y.grad_fn._saved_other, a)
                assert y.grad_fn._saved_self.dtype is dtype and y.grad_fn._saved_self.layout == a.layout
                y.sum().backward()
            assert torch.allclose(a.grad, 2 * a)


def test_save_on_cpu_keeps_copies(torch):
    a = result(torch)
    value = a.detach().clone()
    with torch.autograd.graph.save_on_cpu():
        y = a.sin()
    with torch.no_grad():
        a.zero_()
    x = y.grad_fn._saved_self
    assert torch.equal(x, value) or torch.equal(x, torch.zeros(5))  # PyTorch does not copy what is on the CPU already


def test_saving_to_disk(torch, hooks):
    class SelfDeletingTempFile:
        def __init__(self):
            self.name = os.path.join(folder, str(uuid.uuid4()))

        def __del__(self):
            os.remove(self.name)

    def pack(tensor):
        file = SelfDeletingTempFile()
        torch.save(tensor, file.name)
        return file

    def unpack(file):
        return torch.load(file.name)

    with tempfile.TemporaryDirectory() as folder:
        a = torch.ones(5, requires_grad=True)
        with hooks(pack, unpack):
            y = a * a
        assert len(os.listdir(folder)) == 2
        y.sum().backward()
        assert a.grad.tolist() == [2.0] * 5
        del y
        gc.collect()
        assert os.listdir(folder) == []

        model = torch.nn.Sequential(torch.nn.Linear(5, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
        only_large = hooks(lambda x: x if x.numel() < 10 else pack(x.detach()),
            lambda x: unpack(x) if isinstance(x, SelfDeletingTempFile) else x)
        x = torch.randn(4, 5, requires_grad=True)
        model(x).sum().backward()
        expected, x.grad = x.grad, None
        with only_large:
            out = model(x)
        out.sum().backward()
        assert torch.allclose(x.grad, expected)


# -- what a node shows ------------------------------------------------------------------------------------------------


def test_saved_values_have_the_place_of_what_was_saved(torch):
    a = leaf(torch)
    y = a * a
    assert y.grad_fn._saved_self is a
    b = a + 1
    z = b.sin()
    assert z.grad_fn._saved_self.grad_fn is b.grad_fn and z.grad_fn._saved_self.requires_grad
    e = b.exp()
    assert e.grad_fn._saved_result.grad_fn is e.grad_fn and torch.equal(e.grad_fn._saved_result, e)
    assert e.grad_fn._saved_result is not e
    c = torch.ones(5)
    assert (a * c).grad_fn._saved_other.requires_grad is False and (a * c).grad_fn._saved_self is None


def test_results_are_saved_without_a_cycle(torch):
    gc.disable()
    try:
        e = leaf(torch).exp()
        node = weakref.ref(e)
        del e
        assert node() is None
    finally:
        gc.enable()


def test_a_saved_result_shares_its_version(torch):
    b = torch.rand(2, requires_grad=True).exp()
    kept = b.grad_fn._saved_result
    assert torch.equal(b, kept) and b._version == kept._version
    with torch.no_grad():
        b += 1
    assert torch.equal(b, kept) and b._version == kept._version


def test_saved_constants_shapes_and_lists(torch):
    F = importlib.import_module(f"{torch.__name__}.nn.functional")
    a = torch.ones(2, 2, requires_grad=True)
    index = torch.tensor([0, 1])
    node = a[:, index].grad_fn
    assert node._saved_indices[0] is None and torch.equal(node._saved_indices[1], index)
    assert node._saved_self_sym_sizes == (2, 2) and isinstance(node._saved_self_sym_sizes[0], int)
    assert a.mean().grad_fn._saved_self_sym_sizes == (2, 2) and a.mean().grad_fn._saved_self_sym_numel == 4
    assert a.sum(1).grad_fn._saved_dim == (1,) and a.sum(1).grad_fn._saved_keepdim is False
    assert torch.stack([a, a]).grad_fn._saved_dim == 0 and torch.cat([a, a], 1).grad_fn._saved_dim == 1
    assert (a**2).grad_fn._saved_exponent == 2 and isinstance((a**2).grad_fn._saved_exponent, int)
    assert torch.add(a, a, alpha=3).grad_fn._saved_alpha == 3
    assert torch.div(a, 2.0, rounding_mode="trunc").grad_fn._saved_rounding_mode == "trunc"
    assert torch.div(a, 2.0, rounding_mode=None).grad_fn._saved_rounding_mode is None
    assert torch.logit(a, 1.0).grad_fn._saved_eps == 1.0 and torch.logit(a).grad_fn._saved_eps is None
    assert a.clamp(0, 1).grad_fn._saved_min == 0 and a.clamp(min=0).grad_fn._saved_max is None
    assert a.softmax(1).grad_fn._saved_dim == 1
    assert a[0].grad_fn._saved_index == 0 and a[:, 1:2].grad_fn._saved_start == 1 and a[:, 1:2].grad_fn._saved_dim == 1
    assert a.as_strided((3,), (1,), 1).grad_fn._saved_storage_offset == 1
    mm = torch.mm(a, a).grad_fn
    assert mm._saved_mat2 is a and mm._saved_self_sym_sizes == (2, 2)
    assert torch.linalg.qr(a)[0].grad_fn._saved_mode == "reduced"
    image = torch.ones(1, 1, 3, 3, requires_grad=True)
    conv = torch.nn.Conv2d(1, 1, 3)(image).grad_fn
    assert conv._saved_bias_sym_sizes_opt == (1,) and conv._saved_padding == (0, 0) and conv._saved_groups == 1
    assert conv._saved_transposed is False and conv._saved_input is image
    assert torch.nn.Conv2d(1, 1, 3, bias=False)(image).grad_fn._saved_bias_sym_sizes_opt == (0,)
    x, target = torch.randn(3, 5, requires_grad=True), torch.tensor([1, 0, 4])
    assert F.nll_loss(x, target).grad_fn._saved_weight is None
    out = F.nll_loss(x, target, torch.ones(5))
    assert torch.equal(out.grad_fn._saved_weight, torch.ones(5))
    out.backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        out.grad_fn._saved_weight


def test_dir_names_what_is_saved(torch):
    def saved(node):
        return {n for n in dir(node) if n.startswith("_saved_")}

    a, b = torch.ones(2, 3, requires_grad=True), torch.ones(2, 3, requires_grad=True)
    assert saved((a * b).grad_fn) == {"_saved_self", "_saved_other"}
    assert saved(a.exp().grad_fn) == {"_saved_result"}
    assert saved(a.softmax(1).grad_fn) == {"_saved_dim", "_saved_result"}
    assert saved(a.sum(0).grad_fn) == {"_saved_dim", "_saved_keepdim", "_saved_self_sym_sizes"}
    assert "_raw_saved_self" in dir((a * b).grad_fn)
    node = (a * b).grad_fn
    assert all(getattr(node, n) is not None for n in saved(node))
    with pytest.raises(AttributeError):
        node._saved_nothing
    with pytest.raises(AttributeError):
        node._raw_saved_nothing


# -- hooks on one saved value -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [leaf, result])
def test_hooks_on_a_saved_argument(torch, make):
    a = make(torch)
    fn = a.grad_fn
    y = a * a
    y.grad_fn._raw_saved_self.register_hooks(lambda x: 2 * x, lambda x: x / 2)
    assert torch.equal(a, y.grad_fn._saved_self)
    assert y.grad_fn._saved_self.grad_fn is fn and y.grad_fn._saved_self.requires_grad
    y.sum().backward(inputs=[a])
    assert torch.allclose(a.grad, 2 * a)

    a = make(torch)
    y = a * a
    y.grad_fn._raw_saved_self.register_hooks(lambda x: 2 * x, same)
    assert torch.equal(2 * a, y.grad_fn._saved_self)
    y.sum().backward(inputs=[a])
    assert torch.allclose(a.grad, 3 * a)

    a = make(torch)
    y = a**3
    y.grad_fn._raw_saved_self.register_hooks(same, same)
    (g,) = torch.autograd.grad(y.sum(), a, create_graph=True)
    g.sum().backward(inputs=[a])
    assert torch.allclose(a.grad, 6 * a)

    y = make(torch) ** 2
    y.grad_fn._raw_saved_self.register_hooks(same, lambda x: 1)
    with pytest.raises(TypeError, match="Output of saved tensor unpack_hook expected to be a Tensor"):
        y.grad_fn._saved_self
    y = make(torch) ** 2
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        y.grad_fn._raw_saved_self.register_hooks(lambda x, b: x, same)

    def double(x):
        x *= 2
        return x

    y = make(torch) ** 2
    with pytest.raises(RuntimeError, match="A saved tensor pack hook is modifying its input in place"):
        y.grad_fn._raw_saved_self.register_hooks(double, same)


def test_hooks_on_a_saved_result(torch):
    a = leaf(torch)
    y = torch.exp(a)
    y.grad_fn._raw_saved_result.register_hooks(same, same)
    assert torch.equal(y, y.grad_fn._saved_result) and y.grad_fn._saved_result.grad_fn is y.grad_fn
    y.sum().backward()
    assert torch.equal(a.grad, y)


def test_when_hooks_are_refused(torch):
    a = torch.ones(2, 2, requires_grad=True)
    out = a * a
    raw = out.grad_fn._raw_saved_self
    with pytest.raises(TypeError, match="incompatible function arguments"):
        raw.register_hooks(same)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        raw.register_hooks(1, 1)
    raw.register_hooks(same, same)
    with pytest.raises(RuntimeError, match="already been set"):
        raw.register_hooks(same, same)
    with pytest.raises(RuntimeError, match="already been set"):
        out.grad_fn._raw_saved_self.register_hooks(same, same)
    out.sum().backward()
    with pytest.raises(RuntimeError, match="after it has been freed"):
        out.grad_fn._raw_saved_self.register_hooks(same, same)
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        out.grad_fn._saved_self
    node = (a * torch.ones(2, 2)).grad_fn
    with pytest.raises(RuntimeError, match="None is forbidden"):
        node._raw_saved_self.register_hooks(same, same)

    node = a[:, torch.tensor([0, 1])].grad_fn
    node._raw_saved_indices[1].register_hooks(same, same)
    with pytest.raises(RuntimeError, match="None is forbidden"):
        node._raw_saved_indices[0].register_hooks(same, same)
    with torch.autograd.graph.saved_tensors_hooks(same, same):
        y = a.exp()
    with pytest.raises(RuntimeError, match="already been set"):
        y.grad_fn._raw_saved_result.register_hooks(same, same)


def test_what_functions_saved(torch):
    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, keep):
            if keep:
                ctx.save_for_backward(x, None)
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g, None

    a = leaf(torch)
    y = Keep.apply(a, True)
    assert y.grad_fn.saved_tensors[0] is a and y.grad_fn.saved_tensors[1] is None
    raw = y.grad_fn._raw_saved_tensors
    assert type(raw[0]).__name__ == type(raw[1]).__name__.replace("SavedNone", "SavedTensor") == "SavedTensor"
    with pytest.raises(RuntimeError, match="None is forbidden"):
        raw[1].register_hooks(same, same)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        raw[0].register_hooks(same)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        raw[0].register_hooks(1, 1)
    raw[0].register_hooks(same, same)
    with pytest.raises(RuntimeError, match="already been set"):
        raw[0].register_hooks(same, same)
    y.sum().backward()
    del raw
    for name in ("_raw_saved_tensors", "saved_tensors"):
        with pytest.raises(RuntimeError, match="after they have already been freed"):
            getattr(y.grad_fn, name)
    y = Keep.apply(a, False)
    assert y.grad_fn.saved_tensors == () and y.grad_fn._raw_saved_tensors == ()


# -- writes -----------------------------------------------------------------------------------------------------------


def test_writes_to_what_is_saved_are_noticed(torch):
    a = result(torch)
    b = a.sin()
    a.mul_(2)
    with pytest.raises(RuntimeError,
            match="one of the variables needed for gradient computation has been modified by an inplace operation"):
        b.sum().backward()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        b.grad_fn._saved_self
    e = result(torch).exp()
    e.add_(1)
    with pytest.raises(RuntimeError,
            match="modified by an inplace operation.*which is output 0 of Exp, is at version 1; expected version 0"):
        e.sum().backward()


def test_what_was_detached_in_place(torch):
    a = torch.tensor(1.0, requires_grad=True).clone()
    b = a.sin()
    a.detach_()
    with pytest.raises(RuntimeError, match="Trying to use a saved tensor that has been detached"):
        b.backward()
    a = torch.tensor(1.0, requires_grad=True).clone()  # a saved result may be
    b = a.exp()
    b.detach_()
    a = torch.tensor(1.0, requires_grad=True)
    h = a * 2
    for _ in range(3):  # truncated backpropagation: what was detached before the use is no matter
        h = (h * a).tanh()
        h.backward()
        h.detach_()
    assert a.grad is not None


def test_swapping_data_is_not_noticed(torch):
    a = torch.tensor([2.0], requires_grad=True)
    y = a * a
    a.data = torch.tensor([5.0])
    y.sum().backward()
    assert a.grad.tolist() in ([4.0], [10.0])


def test_contexts_that_are_left_or_entered_by_a_hook(torch, hooks):
    def leaving(x):
        first.__exit__()
        return x

    first, second = hooks(same, leaving), hooks(same, same)

    def left():
        for _ in range(3):
            with second:
                first.__enter__()
                torch.randn(3, 3, requires_grad=True).sin().sum().backward()

    def entered():
        def entering(x):
            weak().__enter__()
            return x

        inner = hooks(same, entering)
        weak = weakref.ref(inner)
        for _ in range(3):
            with hooks(same, same):
                inner.__enter__()
                torch.randn(3, 3, requires_grad=True).sin().sum().backward()
        return weakref.ref(entering)

    done = []

    def both():  # what stays entered stays in this thread
        left()
        done.append(entered()())

    gc.disable()
    try:
        thread = threading.Thread(target=both)
        thread.start()
        thread.join()
    finally:
        gc.enable()
    assert done == [None]


def test_hooks_that_copy_get_the_results_of_in_place_operations(torch, hooks):
    x = torch.randn(4, requires_grad=True)
    with hooks(lambda v: v.clone(), same):
        y = x.clone()
        y.exp_()
        y.mul_(x)
        y.relu_()
        z = torch.nn.functional.leaky_relu_(y * 1)
    z.sum().backward()
    got, x.grad = x.grad, None
    torch.nn.functional.leaky_relu((x.exp() * x).relu()).sum().backward()
    assert torch.allclose(got, x.grad)


@pytest.mark.parametrize("kind", ["mlp", "lstm", "conv", "attention"])
def test_hooks_that_copy_change_no_gradient_of_a_module(torch, hooks, kind):
    torch.manual_seed(0)
    nn = torch.nn
    if kind == "mlp":
        model, args = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 2)), (torch.randn(5, 3),)
    elif kind == "lstm":
        model, args = nn.LSTM(3, 4), (torch.randn(2, 1, 3),)
    elif kind == "conv":
        model, args = (nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(inplace=True), nn.MaxPool2d(2)),
            (torch.randn(2, 2, 6, 6),))
    else:
        model, args = nn.MultiheadAttention(4, 2), (torch.randn(3, 1, 4),) * 3

    def gradients():
        model.zero_grad()
        out = model(*args)
        (out[0] if isinstance(out, tuple) else out).square().sum().backward()
        return [p.grad.clone() for p in model.parameters()]

    plain = gradients()
    with hooks(lambda v: v.detach().numpy().copy(), lambda a: torch.from_numpy(a)):
        hooked = gradients()
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(plain, hooked))


def test_hooks_and_gradcheck(torch, hooks):
    def f(x):
        with hooks(lambda v: v.clone(), same):
            return (x.sin() * x.exp()).tanh()

    x = torch.randn(4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(f, x) and torch.autograd.gradgradcheck(f, x)


def test_sparse_tensors_are_saved(torch, hooks):
    a = torch.sparse_coo_tensor(torch.tensor([[1, 1, 0]]), torch.tensor([1.0, 1.0, 3.0]), requires_grad=True)
    for context in (torch.autograd.graph.save_on_cpu(), hooks(lambda v: v.clone(), same)):
        a.grad = None
        with context:
            y = a * a
        assert y.grad_fn.name() == "MulBackward0" and y.grad_fn._saved_self.layout == a.layout
        assert torch.equal(y.grad_fn._saved_self.to_dense(), a.to_dense())
        y.to_dense().sum().backward()
        assert torch.equal(a.grad.to_dense(), 2 * a.detach().to_dense())
    b = torch.sparse_coo_tensor(torch.tensor([[1]]), torch.tensor([5.0]), (2,), requires_grad=True)
    a.grad = None
    (a * b).to_dense().sum().backward()
    assert a.grad.to_dense().tolist() == [0.0, 5.0] and b.grad.to_dense()[1].item() == 2.0


def test_an_unpack_hook_may_put_a_hook_on_the_node_that_is_running(torch):
    seen = []
    core = importlib.import_module(f"{torch.__name__}._C")

    def halve(grad_inputs, grad_outputs):
        seen.append(grad_outputs)
        return tuple(g / 2 for g in grad_inputs)

    def unpack(t):
        core._current_autograd_node().register_hook(halve)
        return t

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        y = x.sin().sum()
    y.backward()
    torch.testing.assert_close(x.grad, x.detach().cos() / 2)
    assert seen == [()]  # what came in has been given away by then


def test_entering_and_leaving_while_a_backward_runs_ends_with_it(torch, hooks):
    core = importlib.import_module(f"{torch.__name__}._C")

    def in_force():
        return core._autograd._top_saved_tensors_default_hooks(False) is not None

    x = torch.randn(2, requires_grad=True)
    entering = hooks(lambda t: t, lambda t: (entering.__enter__(), t)[1])
    with entering:
        x.sin().sum().backward()
        assert in_force()
    assert not in_force()
    leaving = hooks(lambda t: t, lambda t: (leaving.__exit__(None, None, None), t)[1])
    with leaving:
        x.sin().sum().backward()
        assert in_force()
    assert not in_force()


def test_default_hooks_are_a_stack(torch):
    core = importlib.import_module(f"{torch.__name__}._C")._autograd
    push, pop = torch.autograd._push_saved_tensors_default_hooks, torch.autograd._pop_saved_tensors_default_hooks
    x = torch.ones(2, requires_grad=True)
    push(lambda t: t * 2, lambda t: t)
    push(lambda t: t * 3, lambda t: t)
    first = x * x
    pop()
    second = x * x
    pop()
    third = x * x
    assert [y.grad_fn._saved_self[0].item() for y in (first, second, third)] == [3.0, 2.0, 1.0]
    core._saved_tensors_hooks_disable("not now")
    assert core._saved_tensors_hooks_get_disabled_error_message() == "not now"
    with pytest.raises(RuntimeError, match="not now"), torch.autograd.graph.saved_tensors_hooks(lambda t: t,
            lambda t: t):
        pass
    core._saved_tensors_hooks_enable()
    assert core._saved_tensors_hooks_get_disabled_error_message() is None


def test_what_is_kept_can_be_unpacked_by_hand(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * x
    kept = y.grad_fn._raw_saved_self
    assert isinstance(kept, torch.autograd.SavedTensor)
    assert kept.unpack() is x and kept.data is x and kept.unpack_hook is None
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (t.detach(), 3), lambda pair: pair[0] * 5):
        z = x * x
    packed = z.grad_fn._raw_saved_self
    assert (packed.data[1] == 3 and packed.unpack_hook(packed.data).tolist() == [5.0, 5.0]
        and packed.unpack().tolist() == [5.0, 5.0])
    y.sum().backward()
    assert kept.data is None
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        kept.unpack()


def test_what_a_custom_function_keeps_can_be_unpacked_by_hand(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(x, None, y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.ones(2, requires_grad=True)
    doubled = Double.apply(x)  # which keeps its node
    own, nothing, _ = doubled.grad_fn._raw_saved_tensors
    assert own.unpack() is x and own.data is x
    assert nothing.data is None and nothing.unpack() is None


DROPPED = {
    "dropout": (lambda F, x: F.dropout(x, 0.5), (2, 3, 4)),
    "dropout in place": (lambda F, x: F.dropout(x * 1, 0.5, inplace=True), (2, 3, 4)),
    "dropout1d": (lambda F, x: F.dropout1d(x, 0.5), (2, 3, 1)),
    "alpha_dropout": (lambda F, x: F.alpha_dropout(x, 0.5, True), (2, 3, 4)),
}


@pytest.mark.parametrize("name", DROPPED)
def test_hooks_see_what_was_dropped(torch, name):
    f, shape = DROPPED[name]
    x = torch.randn(2, 3, 4, requires_grad=True)
    torch.manual_seed(0)
    plain = f(torch.nn.functional, x)
    (expected,) = torch.autograd.grad(plain.sum(), x)
    seen = []
    torch.manual_seed(0)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append((tuple(t.shape), t.dtype)) or t,
            lambda t: t * 3):
        y = f(torch.nn.functional, x)
    assert seen == [(shape, torch.float32)]
    assert torch.equal(y, plain)
    torch.testing.assert_close(torch.autograd.grad(y.sum(), x)[0], expected * 3)


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("preserve", [False, True])
def test_a_checkpoint_draws_again_unless_it_keeps_the_random_numbers(torch, reentrant, preserve):
    x = torch.ones(100, requires_grad=True)
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    y = checkpoint(lambda x: torch.nn.functional.dropout(x, 0.5), x, use_reentrant=reentrant,
        preserve_rng_state=preserve)
    y.sum().backward()
    assert torch.equal(y != 0, x.grad != 0) is preserve


# -- what our nodes save is enough, whatever it is ---------------------------------------------------------------------


def given(torch):
    torch.manual_seed(0)
    made = dict(x=torch.rand(3, 3), y=torch.rand(3, 3) + 0.5, w=torch.rand(3), v=torch.rand(3))
    made |= dict(image=torch.rand(1, 2, 4, 4), batch=torch.rand(2, 3, 3))
    for t in made.values():
        t.requires_grad_()
    made |= dict(i=torch.tensor([[0, 1, 2]]), rows=torch.tensor([0, 2]), classes=torch.tensor([0, 2, 1]),
        n=torch.tensor([1, 2, 3]))
    return made | dict(mask=torch.eye(3) > 0, F=importlib.import_module(f"{torch.__name__}.nn.functional"), torch=torch)


EXPRESSIONS = [
    "x * y", "torch.maximum(x, y)", "torch.atan2(x, y)", "torch.addmm(x, y, batch[0])", "torch.dot(w, v)",
    "torch.mv(x, v)", "torch.addcmul(x, y, w)", "torch.lerp(x, y, w)", "torch.clamp(x, w, v)", "torch.hypot(x, y)",
    "torch.pow(x, y)", "torch.vdot(w, v)", "F.layer_norm(x, (3,), w, v)", "F.rms_norm(x, (3,), w)",
    "F.batch_norm(x, torch.zeros(3), torch.ones(3), w, v, training=True)", "x.gather(0, i)", "x.take(rows)",
    "x.cummax(0)[0]", "x.masked_select(mask)", "torch.div(x, y, rounding_mode='floor')", "torch.complex(x, y)",
    "torch.fft.rfft(x)", "x.scatter_reduce(0, i, y[:1], 'sum')", "x.index_add(0, rows, y[:2])",
    "torch.cholesky_solve(x, y)", "F.nll_loss(x, classes)", "F.nll_loss(x, classes, weight=v.detach())",
    "F.cross_entropy(x, classes)", "F.l1_loss(x, y)", "F.linear(x, y, v)", "F.linear(w, y)", "x @ y", "batch @ w",
    "F.relu6(x)", "torch.cdist(x, y)", "torch.dist(x, y)", "torch.pdist(x)", "F.adaptive_avg_pool2d(image, 3)",
    "F.multi_margin_loss(x, classes)",
    "F.grid_sample(image, batch[None, 0, :, :, None].expand(1, 3, 3, 2), align_corners=False)", "x * n",
    "(x > 0.5) * x", "n / x", "x.double() * w", "(x * 1).mul_(y)", "(x * 1).exp_()", "(x * 2).add_(w).sigmoid_()",
    "F.interpolate(image, scale_factor=1.5, mode='bilinear')", "F.binary_cross_entropy(x.sigmoid(), mask.float())",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_hooks_that_copy_change_no_gradient(torch, hooks, expression):
    """Each value is packed when it is saved and unpacked for each use; derivatives of both orders are those without
    hooks.
    """
    waiting = []

    def pack(t):
        waiting.append(None)
        return len(waiting) - 1, t.detach().clone()

    def unpack(entry):
        waiting[entry[0]] = "unpacked"
        return entry[1]

    def gradients(values):
        leaves = [t for t in values.values() if isinstance(t, torch.Tensor) and t.requires_grad]
        y = eval(expression, values)
        first = torch.autograd.grad(y.abs().sum(), leaves, allow_unused=True, create_graph=True)
        total = sum(g.sum() for g in first if g is not None)
        # PyTorch has but one order
        twice = total.requires_grad and not any(name in expression for name in ("cdist", "pdist", "multi_margin"))
        second = torch.autograd.grad(total, leaves, allow_unused=True) if twice else ()
        return [*first, *second]

    expected = gradients(given(torch))
    with hooks(pack, unpack):
        found = gradients(given(torch))
    assert "unpacked" in waiting or not waiting
    for a, b in zip(found, expected, strict=True):
        assert a is b is None or torch.allclose(a, b)


@pytest.mark.parametrize("expression",
    ["x * 2", "x * y", "x.exp()", "torch.cdist(x, y)", "F.layer_norm(x, (3,), w, v)", "x @ y"])
@pytest.mark.parametrize("hooked", [False, True])
def test_a_second_backward_through_what_was_saved_is_refused(torch, hooks, expression, hooked):
    values = given(torch)
    with hooks(same, same) if hooked else contextlib.nullcontext():
        found = eval(f"({expression}).sin()", values)
    found.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        found.sum().backward()


def test_a_result_that_a_hook_keeps_does_not_keep_its_node():
    import wengert as torch

    gc.collect()
    gc.disable()
    try:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            y = torch.ones(2, requires_grad=True).exp()
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()
