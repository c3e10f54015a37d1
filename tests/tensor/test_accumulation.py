"""How gradients come together in ``.grad``: in place or not, taken over or copied, dense or sparse, of which layout and
type.
"""

from __future__ import annotations

import warnings

import pytest

import wengert
from tests.makers import leaf


@pytest.mark.parametrize("create_graph", [False, True])
def test_the_second_gradient_goes_into_the_first_unless_it_is_recorded(torch, create_graph):
    x = leaf(torch, 1.0, 2.0)
    y = x * 3
    y.sum().backward(retain_graph=True)
    first = x.grad
    y.sum().backward(create_graph=create_graph)
    assert (x.grad is first) is not create_graph
    assert x.grad.tolist() == [6.0, 6.0]
    assert first.tolist() == ([3.0, 3.0] if create_graph else [6.0, 6.0])


def _coo(torch, *values):
    return torch.sparse_coo_tensor(torch.tensor([[1, 1]]), torch.tensor(list(values)))


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    "old, new, in_place", [("sparse", "dense", False), ("dense", "dense", True), ("sparse", "sparse", True)]
)
def test_the_object_in_grad(torch, old, new, in_place, create_graph):
    make = {"sparse": lambda: _coo(torch, 1.0, 1.0), "dense": lambda: torch.tensor([1.5, 1.5])}
    x = leaf(torch, 1.5, 1.5)
    x.grad = make[old]()
    before = x.grad
    x.backward(make[new](), create_graph=create_graph)
    assert (x.grad is before) is (in_place and not create_graph)


def test_dense_and_sparse_gradients_of_one_table(torch):
    look_up = torch.nn.functional.embedding
    table = torch.zeros(5, 2, requires_grad=True)
    look_up(torch.tensor([1, 1]), table, sparse=True).sum().backward()
    first = table.grad
    look_up(torch.tensor([1, 2]), table, sparse=True).sum().backward()
    assert table.grad is first and first.is_sparse and first.to_dense()[:, 0].tolist() == [0, 3, 1, 0, 0]
    table.sum().backward()
    assert not table.grad.is_sparse and table.grad[:, 0].tolist() == [1, 4, 2, 1, 1]
    dense = table.grad
    look_up(torch.tensor([0]), table, sparse=True).sum().backward()
    assert table.grad is dense and dense[:, 0].tolist() == [2, 4, 2, 1, 1]


@pytest.mark.parametrize("sparse_first", [False, True])
def test_dense_and_sparse_gradients_meet_in_one_backward(torch, sparse_first):
    table = torch.zeros(3, 2, requires_grad=True)
    rows = torch.nn.functional.embedding(torch.tensor([1, 1]), table, sparse=True).sum()
    (rows + table.sum() if sparse_first else table.sum() + rows).backward()
    assert not table.grad.is_sparse and table.grad[:, 0].tolist() == [1, 3, 1]


def test_a_sparse_gradient_is_taken_over_by_one_leaf_and_copied_for_the_other(torch):
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, g):
            ctx.seen.append(g._values().data_ptr())
            return g, g

    a, b = torch.zeros(4, 2, requires_grad=True), torch.zeros(4, 2, requires_grad=True)
    table = Both.apply(a, b)
    table.grad_fn.seen = seen = []
    torch.nn.functional.embedding(torch.tensor([1, 3]), table, sparse=True).mul(2).sum().backward()
    ours, theirs = a.grad._values().data_ptr(), b.grad._values().data_ptr()
    assert ours != theirs and seen[0] in (ours, theirs)


def test_a_gradient_that_others_hold_is_copied(torch):
    seen = []

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, g):
            seen.append(g.data_ptr())
            return g, g

    a, b = torch.randn(5, 6, requires_grad=True), torch.randn(5, 6, requires_grad=True)
    Both.apply(a, b)[1][0].backward()
    assert a.grad.data_ptr() != b.grad.data_ptr()
    assert seen[0] in (a.grad.data_ptr(), b.grad.data_ptr())


def test_given_gradients_are_not_written_to():
    # PyTorch may take the given tensor over, and write to it in the next backward.
    x = leaf(wengert, 1.0, 2.0, 3.0)
    y, given = x.view(3), wengert.ones(3)
    for _ in range(3):
        y.backward(given, retain_graph=True)
    assert given.tolist() == [1, 1, 1] and x.grad.tolist() == [3, 3, 3]


def test_a_given_gradient_survives_meeting_a_sparse_one(torch):
    x = torch.rand(2, 2, requires_grad=True)
    sparse, plain = x.gather(0, torch.tensor([[0, 0]]), sparse_grad=True), x.clone()
    given = torch.ones(2, 2)
    torch.autograd.backward((plain, sparse), (given, torch.ones(1, 2)))
    assert given.tolist() == [[1, 1], [1, 1]]
    assert x.grad.tolist() == [[2, 2], [1, 1]]


def test_an_assigned_gradient_is_added_to(torch):
    x, mine = leaf(torch, 1.0, 2.0), torch.ones(2)
    x.grad = mine
    (2 * x).sum().backward()
    assert x.grad is mine and mine.tolist() == [3.0, 3.0]


def test_a_gradient_with_history_is_added_to_in_place(torch):
    x, other = leaf(torch, 1.0, 2.0), leaf(torch, 5.0, 5.0)
    x.grad = other * 2
    mine, version = x.grad, x.grad._version
    x.sum().backward()
    assert x.grad is mine and mine.tolist() == [11.0, 11.0] and mine._version == version + 1


def test_retained_gradients_are_not_shared_with_leaves(torch):
    x = leaf(torch, 1.0, 2.0)
    h = x * 1
    h.retain_grad()
    (h * 2).sum().backward()
    h.grad.zero_()
    assert x.grad.tolist() == [2.0, 2.0]


def test_no_elements(torch):
    a, b = torch.rand(4, 0, requires_grad=True), torch.rand(4, 1, requires_grad=True)
    for _ in range(2):
        (a + b).sum().backward()
    assert a.grad.shape == (4, 0) and b.grad.tolist() == [[0.0]] * 4


# -- layout ------------------------------------------------------------------------------------------------------------


def test_the_gradient_of_a_dense_leaf_has_its_strides(torch):
    x = torch.randn(3, 4).t().requires_grad_()
    (x * torch.randn(4, 3)).sum().backward()
    assert x.grad.stride() == x.stride() == (1, 4)
    x.grad = None
    x.sum().backward()
    assert x.grad.stride() == (1, 4)


def test_the_gradient_of_a_leaf_with_gaps_is_contiguous(torch):
    x = torch.randn(6, 4)[::2].requires_grad_()
    (x * 1).sum().backward()
    assert x.stride() == (8, 1) and x.grad.stride() == (4, 1)


def test_the_gradient_through_a_transpose_is_laid_out_as_the_leaf(torch):
    x = torch.randn(4, 3, requires_grad=True)
    (x.t() * 2).sum().backward()
    assert x.grad.stride() == (3, 1)


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_given_gradient_is_copied_into_the_layout_of_the_leaf(torch, create_graph):
    x = torch.randn(2, 3, 4).permute(2, 0, 1).requires_grad_()
    (x * 1).backward(torch.ones(4, 2, 3), create_graph=create_graph)
    assert x.grad.stride() == x.stride()


def test_the_layout_is_a_policy(torch):
    x = torch.empty(2, 3, 4).permute(2, 0, 1).requires_grad_()
    with torch.autograd.enforce_grad_layout_policy(False):
        (x * 2).sum().backward()
    assert x.grad.tolist() == torch.full((4, 2, 3), 2.0).tolist()


# -- assigning ---------------------------------------------------------------------------------------------------------


def test_deleting_a_gradient(torch):
    x = leaf(torch, 1.0)
    x.grad = torch.ones(1)
    del x.grad
    assert x.grad is None
    del x.grad
    for name in ("data", "requires_grad", "_grad_fn", "_backward_hooks"):
        with pytest.raises(RuntimeError):
            delattr(x, name)


def test_what_cannot_be_a_gradient(torch):
    x = leaf(torch, 1.0, 2.0)
    for wrong, error, message in (
        (1.0, TypeError, "assigned grad expected to be a Tensor or None but got grad of type"),
        (x, RuntimeError, "can't assign Variable as its own grad"),
        (torch.ones(3), RuntimeError, "attempting to assign a gradient of size"),
        (torch.ones(2, 1), RuntimeError, "attempting to assign a gradient of size"),
        (torch.ones(2, dtype=torch.float64), RuntimeError,
            "attempting to assign a gradient with dtype 'double' to a tensor with grad_dtype 'Float'"),
        (torch.ones(2, dtype=torch.int64), RuntimeError, "attempting to assign a gradient with dtype 'long int'"),
    ):
        with pytest.raises(error, match=message):
            x.grad = wrong
        assert x.grad is None


def test_the_type_of_a_gradient_can_be_chosen(torch):
    x = leaf(torch, 1.0, 2.0)
    assert x.grad_dtype == torch.float32
    x.grad_dtype = torch.float64
    with pytest.raises(RuntimeError,
            match="attempting to assign a gradient with dtype 'float' to a tensor with grad_dtype 'Double'"):
        x.grad = torch.ones(2)
    (x * 2).sum().backward()
    assert x.grad.dtype == torch.float64 and x.grad.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="because there is already a gradient with dtype 'double'"):
        x.grad_dtype = torch.float32
    x.grad, x.grad_dtype = None, None
    (x * 2).sum().backward()
    assert x.grad_dtype is None and x.grad.dtype == torch.float32
    x.grad = torch.ones(2, dtype=torch.float64)


def test_grad_dtype_belongs_to_leaves(torch):
    h = leaf(torch, 1.0) * 2
    with pytest.raises(RuntimeError, match="grad_dtype can only be accessed on leaf tensors"):
        h.grad_dtype
    with pytest.raises(RuntimeError, match="grad_dtype can only be set on leaf tensors"):
        h.grad_dtype = torch.float64
    with pytest.raises(RuntimeError, match=r"grad_dtype must be a torch.dtype or None, but got int"):
        leaf(torch, 1.0).grad_dtype = 3


# -- the accumulator ---------------------------------------------------------------------------------------------------


def test_a_leaf_has_one_accumulator_while_a_graph_is_alive(torch):
    x = leaf(torch, 1.0)
    y = x.expand_as(x)
    accumulator = y.grad_fn.next_functions[0][0]
    assert accumulator.variable is x
    assert (x * 2).grad_fn.next_functions[0][0] is accumulator
    assert accumulator._sequence_nr() == 2**64 - 1


def test_a_leaf_of_other_memory_or_type_is_another_leaf(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * 1
    accumulator = y.grad_fn.next_functions[0][0]
    x.data = torch.ones(3)
    assert (x * 1).grad_fn.next_functions[0][0] is accumulator
    x.data = torch.ones(3, dtype=torch.float64)
    assert (x * 1).grad_fn.next_functions[0][0] is not accumulator

    x = leaf(torch, 1.0, 2.0)
    edge, y = torch.autograd.graph.get_gradient_edge(x), x.clone()
    with torch.no_grad():
        x.set_(torch.zeros(2))
    with pytest.raises(RuntimeError, match="to not have been used in the graph"):
        torch.autograd.grad(y.sum(), x, retain_graph=True)
    assert torch.autograd.grad(y.sum(), edge)[0].tolist() == [1.0, 1.0]


def test_accumulating_by_hand(torch):
    x = leaf(torch, 1.0, 2.0)
    accumulator = x.expand_as(x).grad_fn.next_functions[0][0]
    assert accumulator(torch.ones(2)) == ()
    assert x.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("stop", ["requires_grad_", "detach_"])
def test_a_leaf_that_no_longer_requires_a_gradient_gets_none(torch, stop, create_graph):
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    told = []
    x.register_hook(lambda g: told.append("tensor"))
    x.register_post_accumulate_grad_hook(lambda t: told.append("after"))
    y = (x * w).sum()
    x.requires_grad_(False) if stop == "requires_grad_" else x.detach_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y.backward(create_graph=create_graph)
    assert x.grad is None and told == ["tensor", "after"]
    assert w.grad.tolist() == [1, 1]
    w.grad = None


@pytest.mark.parametrize(("kept", "given", "arrives"), [
    ("float64", "float32", "float64"), ("float64", None, "float64"), (None, "float64", "float64"),
    (None, None, "float32"), ("bfloat16", "float32", "bfloat16"), ("default", "float64", "float32"),
])
def test_a_backward_that_begins_at_a_leaf_has_its_grad_dtype(torch, kept, given, arrives):
    x = torch.ones((), requires_grad=True)
    if kept != "default":
        x.grad_dtype = None if kept is None else getattr(torch, kept)
    g = None if given is None else torch.ones((), dtype=getattr(torch, given))
    x.backward(g)
    found = [x.grad, *torch.autograd.grad(x, x, g), *torch.autograd.grad(x, x, g, create_graph=True)]
    assert [t.dtype for t in found] == [getattr(torch, arrives)] * 3


def test_a_gradient_whose_elements_share_memory_cannot_take_more(torch):
    x = torch.ones(4, 3, requires_grad=True)
    x.grad = torch.zeros(1, 3).expand(4, 3)
    with pytest.raises(RuntimeError,
            match="more than one element of the written-to tensor refers to a single memory location"):
        (x * 2).sum().backward()
    assert x.grad.sum().item() == 0.0
    x.grad = torch.zeros(3, 4).t()
    (x * 2).sum().backward()
    assert x.grad.sum().item() == 24.0 and x.grad.stride() == (1, 4)


LIKE = {
    "transposed": (lambda torch: torch.rand(3, 2).t(), (False, True)),
    "with gaps": (lambda torch: torch.rand(2, 6)[:, ::2], (False,)), "the same": (lambda torch: torch.rand(2, 3), ()),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("kind", LIKE)
def test_adding_to_a_gradient_of_another_layout_warns(torch, kind, create_graph):
    like, told = LIKE[kind][0], create_graph in LIKE[kind][1]
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        x = torch.rand(2, 3, requires_grad=True)
        x.grad = like(torch)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            (x * 2).backward(torch.ones(2, 3), create_graph=create_graph)
        found = [str(w.message) for w in seen if "gradient layout contract" in str(w.message)]
        assert len(found) == told
        if told:
            steps = ", ".join(map(str, x.grad.stride()))
            assert (
                f"grad.sizes() = [2, 3], strides() = [{steps}]\nparam.sizes() = [2, 3], strides() = [3, 1]" in found[0])
        with warnings.catch_warnings(record=True) as seen, torch.autograd.grad_mode.enforce_grad_layout_policy(False):
            warnings.simplefilter("always")
            (x * 2).backward(torch.ones(2, 3))
        assert not any("layout" in str(w.message) for w in seen)
    finally:
        torch.set_warn_always(before)


def test_that_warning_comes_once(torch):
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(False)
    try:
        counts = []
        for _ in range(2):
            x = torch.rand(2, 3, requires_grad=True)
            x.grad = torch.rand(3, 2).t()
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                (x * 2).sum().backward()
            counts.append(sum("layout" in str(w.message) for w in seen))
        assert counts[1] == 0
    finally:
        torch.set_warn_always(before)
