"""Custom Functions: in which order PyTorch refuses things, and what it looks at that nobody has asked for."""

import importlib

import pytest


def function(torch, body, result="x * 2", **more):
    """A Function of one tensor whose context does ``body`` with ``x`` and the result ``o``."""
    seen = []

    def forward(ctx, x):
        names = {"ctx": ctx, "x": x, "torch": torch}
        names["o"] = eval(result, names)
        exec(body, names)
        seen.append("forward")
        return names["o"]

    members = {"forward": staticmethod(forward), "backward": staticmethod(lambda ctx, *g: g[0])}
    members.update((k, staticmethod(v)) for k, v in more.items())
    return type("F", (torch.autograd.Function,), members), seen


@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize(
    "mark, text",
    [("mark_dirty", "mark_dirty can only accept variables, but argument"),
        ("mark_non_differentiable", "only accepts variable arguments")],
)
def test_marks_are_looked_at_after_forward(torch, mark, text, wanted):
    for what in ("3", "None", "[x]", "x, 's'"):
        f, seen = function(torch, f"ctx.{mark}({what})")
        with pytest.raises(RuntimeError, match=text):
            f.apply(torch.ones(2, requires_grad=wanted))
        assert seen == ["forward"]


def test_what_is_saved_is_looked_at_before_marks_and_those_of_no_gradient_first(torch):
    f, _ = function(torch, "ctx.mark_dirty(3); ctx.mark_non_differentiable(4); ctx.save_for_backward(5)")
    with pytest.raises(TypeError, match="save_for_backward can only save variables"):
        f.apply(torch.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="mark_non_differentiable"):
        f.apply(torch.ones(2))


def test_what_was_no_input_cannot_be_dirty(torch):
    leaf = torch.ones(2, requires_grad=True)
    for result in ("x[0]", "x.unbind(0)[0]", "x.expand(2, 2)"):
        f, _ = function(torch, "ctx.mark_dirty(o)", result)
        for x in (leaf, leaf.clone()):
            with pytest.raises(RuntimeError,
                    match="a leaf Variable that requires grad has been used in an in-place operation"):
                f.apply(x)
    for result, marked in (("(x * 2).view(-1)", "o"), ("((x * 2).view(-1), x * 2)", "o[0]")):
        f, _ = function(torch, f"ctx.mark_dirty({marked})", result)
        with pytest.raises(RuntimeError, match="received a tensor that was not an input"):
            f.apply(leaf.clone())
    f, _ = function(torch, "ctx.mark_dirty(o)")
    with pytest.warns(UserWarning, match="received a tensor that was not an input"):
        assert f.apply(leaf.clone()).requires_grad


def test_arguments_by_name(torch):
    class Three(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y=1, z=2):
            return x * y * z

        @staticmethod
        def backward(ctx, g):
            return g, None, None

    x = torch.ones(2, requires_grad=True)
    assert Three.apply(x, y=3).tolist() == [6.0, 6.0] and Three.apply(x, 2, z=5).tolist() == [10.0, 10.0]
    for args, kwargs, text in [
        ((x,), {"z": 1}, r"forward\(\) missing required argument: 'y' \(position 1\)"),  # its default does not count
        ((), {"y": 1}, r"forward\(\) missing required argument: 'x' \(position 0\)"),
        ((x, 1), {"y": 1}, r"forward\(\) got multiple values for argument 'y'"),
        ((x,), {"k": 1}, r"forward\(\) got an unexpected keyword argument 'k'"),
    ]:
        with pytest.raises(TypeError, match=text):
            Three.apply(*args, **kwargs)


def test_gradients_that_nobody_asks_for_must_fit_too(torch):
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x.sum(0) * y

        @staticmethod
        def backward(ctx, g):
            return g[:2], g

    x, y = torch.ones(2, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Function TwoBackward returned an invalid gradient at index 0 - got \[2\] "
            r"but expected shape compatible"):
        torch.autograd.grad(Two.apply(x, y).sum(), y)
    out = Two.apply(x, y)
    with pytest.raises(RuntimeError, match="Function TwoBackward returned an invalid gradient at index 0"):
        out.backward(torch.ones(3), inputs=out)


def test_its_nodes_cannot_be_called(torch):
    f, _ = function(torch, "")
    out = f.apply(torch.ones(2, requires_grad=True))
    with pytest.raises(TypeError, match="'FBackward' object is not callable"):
        out.grad_fn(torch.ones(2))
    assert out.grad_fn.apply(torch.ones(2)).tolist() == [1.0, 1.0]


def test_nodes_of_generated_rules_have_the_name_of_the_function(torch):
    class Triple(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x * 3

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 3

    x = torch.ones(2, 3, requires_grad=True)
    out = torch.func.vmap(Triple.apply)(x)
    assert out.grad_fn.name() == "VmappedTripleBackward"
    out.sum().backward()
    assert x.grad.tolist() == [[3.0] * 3] * 2


def test_versions_of_what_a_hook_unpacks(torch):
    held = torch.ones(2)
    held.add_(1)
    versions = []

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        versions.append(x._version)
        with torch.no_grad():
            x.add_(1)
        versions.append(held._version)
        return g

    f, _ = function(torch, "ctx.save_for_backward(x)", backward=backward)
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: held):
        out = f.apply(torch.ones(2, requires_grad=True) * 1)
    out.sum().backward()
    assert versions == [1, 2] and held.tolist() == [3.0, 3.0]


def test_forward_mode_comes_before_saving(torch):
    fwad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    packed = []
    f, _ = function(torch, "ctx.save_for_backward(x)")
    with fwad.dual_level(), torch.autograd.graph.saved_tensors_hooks(lambda x: packed.append(x) or x, lambda x: x):
        x = fwad.make_dual(torch.ones(2, requires_grad=True), torch.ones(2))
        with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
            f.apply(x)
    assert packed == []


def test_what_jvp_must_do_to_tangents(torch):
    fwad = importlib.import_module(f"{torch.__name__}.autograd.forward_ad")
    with fwad.dual_level():
        for tangent, jvp, text in [
            (torch.ones(2), lambda ctx, t: t * 2, "is not modifying the forward mode gradients inplace"),
            # a new tensor has no writes
            (torch.ones(2), lambda ctx, t: t.mul_(2).clone(), "is not modifying the forward mode gradients inplace"),
            # written when copied
            (torch.ones(1).expand(2), lambda ctx, t: t * 2, "is not returning the forward mode gradients as-is"),
        ]:
            f, _ = function(torch, "x.mul_(2); ctx.mark_dirty(x)", "x", jvp=jvp)
            with pytest.raises(RuntimeError, match=text):
                f.apply(fwad.make_dual(torch.ones(2), tangent))

        class First(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, y):
                return x.view_as(x)

            @staticmethod
            def jvp(ctx, s, t):
                return t * 2

        x, dual = torch.ones(2), fwad.make_dual(torch.ones(2), torch.ones(2))
        # the argument that it is a view of has no tangent, which the result's could be a view of
        out = First.apply(x, dual)
        assert fwad.unpack_dual(out).tangent.tolist() == [2.0, 2.0]
        with pytest.raises(RuntimeError, match="the jvp is not returning a view"):
            First.apply(dual, dual)
