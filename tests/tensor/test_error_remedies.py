"""Training scripts with one mistake each: the error names what is wrong and what to do, after the words that PyTorch
says.
"""

import pytest

import wengert as torch
from wengert import nn


def _lost(forward):
    net = nn.Linear(3, 4)
    forward(net, torch.randn(8, 3)).backward()


def _without_recording(net, x):
    with torch.no_grad():
        return net(x).mean()


def _in_inference_mode(net, x):
    with torch.inference_mode():
        return net(x).mean()


def test_a_loss_without_history():
    begin = "element 0 of tensors does not require grad and does not have a grad_fn: "
    for forward in (
        lambda net, x: torch.tensor(net(x).mean().item()),
        lambda net, x: net(x).detach().mean(),
        lambda net, x: net(x).argmax(1).float().mean(),
        _without_recording,
    ):
        with pytest.raises(RuntimeError, match=rf"{begin}nothing that it was computed from requires grad, or its "
                r"history ended on the way.*argmax"):
            _lost(forward)
    with pytest.raises(RuntimeError, match=f"{begin}it is of type torch.int64, which has no gradients"):
        _lost(lambda net, x: net(x).argmax())
    with pytest.raises(RuntimeError, match=f"{begin}it was made in inference mode"):
        _lost(_in_inference_mode)


def test_a_hidden_state_that_is_handed_on():
    cell = nn.GRUCell(3, 4)
    h = cell(torch.randn(2, 3))
    h.sum().backward()
    with pytest.raises(RuntimeError,
            match=r"second time.*a hidden state or a sum of losses, goes into what is differentiated here, detach\(\)"):
        cell(torch.randn(2, 3), h).sum().backward()


def test_a_step_between_forward_and_backward():
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    first, second = net(torch.randn(8, 3)).mean(), net(torch.randn(8, 3)).pow(2).mean()
    first.backward()
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation.*'weight' for its gradient, and it is a "
            "leaf that was written to since"):
        second.backward()


def test_a_value_that_is_overwritten():
    h = nn.Linear(3, 4)(torch.randn(8, 3)).sigmoid()
    out = nn.Linear(4, 1)(h)
    h += 1
    with pytest.raises(RuntimeError, match="'input' for its gradient, and an in-place operation has overwritten it "
            "since; use the out-of-place form"):
        out.sum().backward()


def test_a_leaf_that_is_written_to():
    w = torch.ones(3, requires_grad=True)
    for write in (lambda: w.sub_(1), lambda: w[:1].sub_(1)):
        with pytest.raises(RuntimeError,
                match=r"used in an in-place operation\. Write to it under torch.no_grad\(\), as an optimizer does"):
            write()
    assert w.tolist() == [1, 1, 1]


def test_modules_in_a_list():
    net = nn.Module()
    net.layers = [nn.Linear(3, 3)]
    with pytest.raises(ValueError,
            match="optimizer got an empty parameter list: .* nn.ModuleList or nn.ModuleDict rather than a list"):
        torch.optim.SGD(net.parameters(), lr=0.1)


def test_a_loss_of_several_numbers():
    loss = nn.functional.mse_loss(nn.Linear(3, 1)(torch.randn(4, 3)), torch.randn(4, 1), reduction="none")
    with pytest.raises(RuntimeError,
            match=r"only for scalar outputs: this one has shape \[4, 1\]; take its mean\(\) or sum\(\)"):
        loss.backward()


def test_an_overwritten_saved_tensor_of_a_custom_function_names_the_function():
    import wengert as torch

    class Keeping(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = torch.ones(2, requires_grad=True) * 1
    y = Keeping.apply(x)
    x.mul_(2)
    with pytest.raises(RuntimeError, match="kept for the backward of KeepingBackward"):
        y.sum().backward()
