"""torch.autograd.functional: Jacobians, Hessians and products with them."""

from __future__ import annotations

import pytest


def inputs(torch):
    return torch.tensor([1.0, 2.0, 3.0]), torch.tensor([[0.5], [2.0]])


def two(x, y):
    return x.exp() * y.sum(), (y * x).sum()


def scalar(x, y):
    return (x**3).sum() * (y**2).sum()


def test_jacobian_shapes_and_values(torch):
    x, y = inputs(torch)
    jacobian = torch.autograd.functional.jacobian
    table = jacobian(two, (x, y))
    assert [[tuple(j.shape) for j in row] for row in table] == [[(3, 3), (3, 2, 1)], [(3,), (2, 1)]]
    assert torch.allclose(table[0][0], torch.diag(x.exp() * y.sum()))
    assert torch.allclose(table[1][1], x.sum().expand(2, 1))
    assert torch.allclose(jacobian(torch.sin, x), torch.diag(x.cos()))
    assert torch.allclose(jacobian(torch.sin, x, vectorize=True), torch.diag(x.cos()))
    assert not table[0][0].requires_grad


def test_jacobian_structure_follows_tuples(torch):
    x, _ = inputs(torch)
    jacobian = torch.autograd.functional.jacobian
    assert isinstance(jacobian(lambda x: x * 2, (x,)), tuple)
    nested = jacobian(lambda x: (x * 2,), (x,))
    assert isinstance(nested, tuple) and isinstance(nested[0], tuple)


def test_create_graph(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    j = torch.autograd.functional.jacobian(lambda x: x**3, x, create_graph=True)
    j.sum().backward()
    assert torch.allclose(x.grad, 6 * x.detach())
    h = torch.autograd.functional.hessian(lambda x: (x**3).sum(), x, create_graph=True)
    assert torch.allclose(torch.autograd.grad(h.sum(), x)[0], torch.tensor([6.0, 6.0]))


def test_hessian(torch):
    x, y = inputs(torch)
    table = torch.autograd.functional.hessian(scalar, (x, y))
    assert torch.allclose(table[0][0], torch.diag(6 * x) * (y**2).sum())
    assert torch.allclose(table[0][1][:, :, 0], torch.outer(3 * x**2, 2 * y[:, 0]))
    assert table[1][0].shape == (2, 1, 3)
    assert torch.allclose(torch.autograd.functional.hessian(lambda x: x.prod(), x, vectorize=True)[0],
        torch.tensor([0.0, 3.0, 2.0]))


def test_products_agree_with_the_matrices(torch):
    f = torch.autograd.functional
    x, y = inputs(torch)
    (a, b), (c, d) = f.jacobian(two, (x, y))
    v = (torch.tensor([1.0, -1.0, 0.5]), torch.tensor(2.0))
    outputs, product = f.vjp(two, (x, y), v)
    assert torch.allclose(outputs[0], two(x, y)[0])
    assert torch.allclose(product[0], v[0] @ a + v[1] * c)
    u = (torch.tensor([1.0, 2.0, -3.0]), torch.tensor([[1.0], [4.0]]))
    outputs, product = f.jvp(two, (x, y), u)
    assert torch.allclose(product[0], a @ u[0] + b[:, :, 0] @ u[1][:, 0])
    assert torch.allclose(product[1], c @ u[0] + (d * u[1]).sum())
    h = f.hessian(scalar, (x, y))
    expected = h[0][0] @ u[0] + h[0][1][:, :, 0] @ u[1][:, 0]
    for name in ("hvp", "vhp"):
        value, product = getattr(f, name)(scalar, (x, y), u)
        assert torch.allclose(value, scalar(x, y)) and torch.allclose(product[0], expected)
        assert not product[0].requires_grad


def test_the_vector_may_be_left_out_for_numbers(torch):
    f = torch.autograd.functional
    x = torch.tensor(2.0)
    assert f.vjp(lambda x: x**2, x)[1] == 4 and f.jvp(lambda x: x**2, x)[1] == 4
    assert f.vhp(lambda x: x**3, x)[1] == 12 and f.hvp(lambda x: x**3, x)[1] == 12
    for name in ("vjp", "jvp", "vhp", "hvp"):
        with pytest.raises(RuntimeError, match="The vector v can only be None if"):
            getattr(f, name)(lambda x: x * 2, torch.ones(2))


def test_vectors_are_checked(torch):
    f = torch.autograd.functional
    x, y = inputs(torch)
    with pytest.raises(RuntimeError, match="v is a tuple of invalid length: should be 2 but got 1"):
        f.jvp(two, (x, y), (x,))
    with pytest.raises(RuntimeError,
            match=r"Entry 1 in v has invalid size: should be torch.Size\(\[2, 1\]\) but got torch.Size\(\[3\]\)"):
        f.jvp(two, (x, y), (x, x))
    with pytest.raises(RuntimeError, match="The given v should contain a single Tensor"):
        f.vjp(lambda x: x * 2, x, (x, x))


def test_types_are_checked(torch):
    f = torch.autograd.functional
    with pytest.raises(TypeError, match="The inputs given to jacobian must be either a Tensor or a tuple of Tensors"):
        f.jacobian(lambda x: x, 1.0)
    with pytest.raises(TypeError,
            match="The outputs of the user-provided function given to vjp must be either a Tensor"):
        f.vjp(lambda x: 1.0, torch.ones(1))
    with pytest.raises(RuntimeError, match="should return a single Tensor"):
        f.vhp(lambda x: (x.sum(),), torch.ones(1))
    with pytest.raises(RuntimeError, match="should contain a single element"):
        f.hessian(lambda x: x * 2, torch.ones(2))
    with pytest.raises(AssertionError, match="Expected strategy to be either"):
        f.jacobian(lambda x: x, torch.ones(1), strategy="sideways")


def test_independent_outputs_give_zeros_or_errors(torch):
    f = torch.autograd.functional
    x, y = inputs(torch)

    def first_only(x, y):
        return x * 2

    assert not f.jacobian(first_only, (x, y))[1].any()
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function is independent of input 1"):
        f.jacobian(first_only, (x, y), strict=True)
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function does not require gradients"):
        f.jacobian(lambda x: x.detach(), x, strict=True)
    with pytest.raises(RuntimeError, match="The output of the user-provided function is independent of input 1"):
        f.vjp(first_only, (x, y), x, strict=True)
    with pytest.raises(RuntimeError, match="independent of the input"):
        f.hessian(lambda x: x.sum(), x, strict=True)
    with pytest.raises(RuntimeError, match="independent of input 0"):
        f.jacobian(lambda x: x * 2, x, strict=True, create_graph=True)
    with pytest.raises(RuntimeError, match="are not supported together"):
        f.jacobian(lambda x: x * 2, x, strict=True, vectorize=True)


def test_tensors_captured_by_the_function_are_constants(torch):
    x = torch.tensor(2.0, requires_grad=True)
    assert torch.autograd.functional.jacobian(lambda y: x * y, x) == 2


def test_products_with_a_graph(torch):
    f = torch.autograd.functional
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    v = torch.tensor([1.0, 1.0], requires_grad=True)
    for name in ("vjp", "jvp"):
        outputs, product = getattr(f, name)(lambda x: x**3, x, v, create_graph=True)
        gx, gv = torch.autograd.grad(product.sum(), (x, v))
        assert torch.allclose(gx, 6 * x) and torch.allclose(gv, 3 * x**2) and outputs.requires_grad


def test_under_no_grad(torch):
    with torch.no_grad():
        j = torch.autograd.functional.jacobian(lambda x: x**2, torch.tensor([3.0]))
        _, p = torch.autograd.functional.jvp(lambda x: x**2, torch.tensor([3.0]), torch.tensor([1.0]))
    assert j.item() == 6 and p.item() == 6


# -- all at once -------------------------------------------------------------------------------------------------------

FUNCTIONS = {
    "one": (lambda x: x.exp().sum(0), 1), "several inputs": (lambda x, y: x.sum() * y, 2),
    "several outputs": (lambda x: (x * x.sum(), x[:1].sin()), 1),
    "both": (lambda x, y: (x.sum() * y, (x * 2).exp()), 2), "unrelated": (lambda x, y: (x * 1, (y * 2).sum()), 2),
    "scalar": (lambda x: x.prod(), 1),
}


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_vectorized_jacobians(torch, name, strategy):
    f, count = FUNCTIONS[name]
    inputs = (torch.rand(3, dtype=torch.float64), torch.rand(2, dtype=torch.float64))[:count]
    inputs = inputs if count > 1 else inputs[0]
    expected = torch.autograd.functional.jacobian(f, inputs)
    compare(torch, torch.autograd.functional.jacobian(f, inputs, vectorize=True, strategy=strategy), expected)


def compare(torch, found, expected):
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for a, b in zip(found, expected):
            compare(torch, a, b)
    else:
        assert found.shape == expected.shape
        assert torch.allclose(found, expected)


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_vectorized_hessians(torch, strategy):
    x, y = torch.rand(3, dtype=torch.float64), torch.rand(2, dtype=torch.float64)
    for f, inputs in ((lambda x: x.pow(3).sum(), x), (lambda x, y: (x.sum() * y.sin()).sum(), (x, y)),
            (lambda x: (x * 2).sum(), x)):
        found = torch.autograd.functional.hessian(f, inputs, vectorize=True, outer_jacobian_strategy=strategy)
        compare(torch, found, torch.autograd.functional.hessian(f, inputs))


def test_vectorized_jacobians_can_be_differentiated(torch):
    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    jacobian, hessian = torch.autograd.functional.jacobian, torch.autograd.functional.hessian
    assert torch.autograd.gradcheck(
        lambda x: jacobian(lambda z: z.exp() * z.sum(), x, create_graph=True, vectorize=True), x)
    assert torch.autograd.gradcheck(lambda x: hessian(lambda z: z.pow(3).prod(), x, create_graph=True, vectorize=True),
        x)


def test_what_does_not_go_together(torch):
    x = torch.rand(3)
    jacobian = torch.autograd.functional.jacobian
    with pytest.raises(RuntimeError, match="not supported together"):
        jacobian(torch.exp, x, strict=True, vectorize=True)
    with pytest.raises(RuntimeError, match="not supported together"):
        jacobian(torch.exp, x, strict=True, vectorize=True, strategy="forward-mode")
    with pytest.raises(NotImplementedError, match="not supported together"):
        jacobian(torch.exp, x, create_graph=True, vectorize=True, strategy="forward-mode")
    with pytest.raises(NotImplementedError, match="implemented for `vectorize=True`"):
        jacobian(torch.exp, x, strategy="forward-mode")
    with pytest.raises(AssertionError, match="Expected strategy to be either"):
        jacobian(torch.exp, x, strategy="sideways")
    with pytest.raises(AssertionError, match="Expected strategy to be either"):
        torch.autograd.functional.hessian(torch.exp, x, outer_jacobian_strategy="sideways")


def test_answers_have_the_class_of_the_inputs(torch):
    class Mine(torch.Tensor):
        pass

    x, v = torch.rand(3).as_subclass(Mine), torch.ones(3)
    functional = torch.autograd.functional
    for found in (
        functional.jacobian(torch.exp, x), functional.jacobian(torch.exp, x, vectorize=True),
        functional.hessian(lambda x: x.exp().sum(), x), functional.jvp(torch.exp, x, v)[1],
        functional.hvp(lambda x: x.exp().sum(), x, v)[1],
    ):
        assert type(found) is Mine


def test_standard_basis(torch):
    basis = torch.autograd.functional._construct_standard_basis_for
    row = (torch.zeros(2, 3), torch.zeros(()), torch.zeros(2, dtype=torch.float64))
    found = basis(row, tuple(t.numel() for t in row))
    assert [tuple(m.shape) for m in found] == [(9, 6), (9, 1), (9, 2)]
    assert [m.dtype for m in found] == [t.dtype for t in row]
    assert torch.equal(torch.cat([m.float() for m in found], 1), torch.eye(9))


@pytest.mark.parametrize("name", ["hvp", "vhp"])
def test_a_square_can_be_differentiated_twice_with_a_graph(torch, name):
    x = torch.tensor([1.0, 2.0])
    for f in (lambda x: (x**2).sum(), lambda x: x.square().sum()):
        _, product = getattr(torch.autograd.functional, name)(f, x, x, create_graph=True, strict=True)
        assert product.tolist() == [2.0, 4.0] and product.requires_grad
    with pytest.raises(RuntimeError, match="independent of input 0"):
        getattr(torch.autograd.functional, name)(lambda x: (x * x).sum(), x, x, create_graph=True, strict=True)


def test_hessian_of_a_square_with_a_graph(torch):
    h = torch.autograd.functional.hessian(lambda x: (x**2).sum(), torch.tensor([1.0, 2.0]), create_graph=True,
        strict=True)
    assert h.tolist() == [[2.0, 0.0], [0.0, 2.0]] and h.requires_grad


def test_a_sum_to_one_number_is_a_sum_of_all(torch):
    x = torch.tensor([1.0, 2.0])
    _, product = torch.autograd.functional.jvp(lambda x: (x * x).sum(), x, x, create_graph=True)
    assert product.grad_fn.name() == "SumBackward0"


def test_forward_mode_takes_numbers_that_have_derivatives(torch):
    jacobian = torch.autograd.functional.jacobian
    with pytest.raises(ValueError, match="Expected primal to be floating point or complex, but got: torch.int64"):
        jacobian(lambda x: x * x, torch.ones(2, dtype=torch.int64), vectorize=True, strategy="forward-mode")


def test_what_structures_forward_mode_gives(torch):
    functional = torch.autograd.functional
    x, y = torch.ones(2), torch.ones(2)
    rows = functional.jacobian(lambda x, y: (x * y, x.sum()), (x, y), vectorize=True, strategy="forward-mode")
    assert type(rows) is list and [type(row) for row in rows] == [list, list]
    rows = functional.hessian(lambda x, y: (x**3 * y).sum(), (x, y), vectorize=True,
        outer_jacobian_strategy="forward-mode")
    assert type(rows) is list and rows[0][0].diagonal().tolist() == [6.0, 6.0]


def test_products_for_sparse_inputs(torch):
    s = torch.eye(2).to_sparse().requires_grad_()
    for create_graph in (False, True):
        value, product = torch.autograd.functional.vjp(lambda x: x.to_dense().sum(), s, create_graph=create_graph)
        assert value == 2 and value.requires_grad is create_graph
        assert product.layout is s.layout and product.to_dense().tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("name", ["vjp", "jvp", "vhp", "hvp"])
def test_vectors_fit(torch, name):
    call = getattr(torch.autograd.functional, name)
    x, one = torch.ones(2), torch.ones(2)
    for wrong in (torch.ones(3), (one, one), 3.0, [one], (one, 3)):
        with pytest.raises((RuntimeError, TypeError)):
            call(lambda x: x.pow(3).sum() if name != "vjp" else x.pow(3), x, wrong)
    for wrong in (3, None, [x], (x, 3)):
        with pytest.raises(TypeError,
                match=f"The inputs given to {name} must be either a Tensor or a tuple of Tensors"):
            call(lambda *x: x[0].sum(), wrong)
    with pytest.raises(TypeError, match=f"The outputs of the user-provided function given to {name} must be either"):
        call(lambda x: 3, torch.ones(1))


@pytest.mark.parametrize("name", ["jacobian", "hessian"])
def test_inputs_are_tensors(torch, name):
    call = getattr(torch.autograd.functional, name)
    for wrong in (3, None, [torch.ones(1)], (torch.ones(1), 3)):
        with pytest.raises(TypeError,
                match=f"The inputs given to {name} must be either a Tensor or a tuple of Tensors"):
            call(lambda *x: x[0].sum(), wrong)


@pytest.mark.parametrize("name", ["vhp", "hvp", "hessian"])
def test_one_number_is_needed(torch, name):
    call = getattr(torch.autograd.functional, name)
    v = () if name == "hessian" else (torch.ones(2),)
    with pytest.raises(RuntimeError,
            match=f"The Tensor returned by the function given to {name} should contain a single element"):
        call(lambda x: x * 2, torch.ones(2), *v)
    with pytest.raises(RuntimeError, match=f"The function given to {name} should return a single Tensor"):
        call(lambda x: (x.sum(), x.sum()), torch.ones(2), *v)


def test_functional_forms_are_neither_strict_nor_recorded_unless_told(torch):
    F = torch.autograd.functional
    x, v, n = torch.ones(2), torch.ones(2), torch.ones(())
    apart, x_asking = (lambda x: torch.ones(2)), torch.ones(2, requires_grad=True)
    for form, rest in ((F.vjp, (v,)), (F.jvp, (v,)), (F.jacobian, ()), (F.hessian, ()), (F.vhp, (v,)), (F.hvp, (v,))):
        scalar = form in (F.hessian, F.vhp, F.hvp)
        found = form((lambda x: n) if scalar else apart, x, *rest)
        assert not (found[-1] if isinstance(found, tuple) else found).any()
        with pytest.raises(RuntimeError, match="independent of|does not require gradients"):
            form((lambda x: n) if scalar else apart, x, *rest, strict=True)
        found = form((lambda x: (x**3).sum()) if scalar else (lambda x: x**3), x_asking, *rest)
        assert not any(t.requires_grad for t in (found if isinstance(found, tuple) else (found,)))
        found = form((lambda x: (x**3).sum()) if scalar else (lambda x: x**3), x_asking, *rest, create_graph=True)
        assert (found[-1] if isinstance(found, tuple) else found).requires_grad


def test_helpers_that_optimizers_of_others_build_their_jacobians_with(torch):
    F = torch.autograd.functional
    one, two_ = torch.ones(2), torch.ones(3)
    assert F._as_tuple(one)[0] is one and F._as_tuple([one, two_]) == (one, two_)
    assert F._as_tuple(one, "inputs", "jacobian") == (False, (one,))
    assert F._as_tuple((one, two_), "inputs", "jacobian") == (True, (one, two_))
    with pytest.raises(TypeError, match="The inputs given to jacobian must be either a Tensor or a tuple of Tensors"):
        F._as_tuple((one, 3), "inputs", "jacobian")
    assert F._tuple_postprocess((one,), False) is one and F._tuple_postprocess((one,), True) == (one,)
    assert F._tuple_postprocess(((1,), (2,)), (True, False)) == (1, 2)
    assert F._tuple_postprocess(((1, 2),), (False, True)) == (1, 2)
    assert F._tuple_postprocess(((1,),), (False, False)) == 1
    recorded = (torch.ones(2, requires_grad=True) * 2, torch.ones(2))
    for create in (False, True):
        for need in (False, True):
            new = F._grad_preprocess(recorded, create, need)
            assert [x.requires_grad for x in new] == [need or create, need]
            assert [x.grad_fn is None for x in new] == [not create, True] and new[0] is not recorded[0]
    assert not F._grad_postprocess((recorded, recorded), False)[1][0].requires_grad
    assert F._grad_postprocess((recorded, recorded), True)[1][0] is recorded[0]
