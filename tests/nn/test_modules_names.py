"""What modules are called in messages."""

import pytest

import wengert as torch


@pytest.mark.parametrize("cls", [torch.nn.ReLU, torch.nn.Tanh, torch.nn.Softmax, torch.nn.Dropout, torch.nn.LeakyReLU])
def test_forward_has_the_name_of_its_class(cls):
    assert cls.forward.__qualname__ == f"{cls.__name__}.forward"
    with pytest.raises(TypeError, match=rf"^{cls.__name__}\.forward\(\) got an unexpected keyword argument 'k'"):
        cls()(torch.ones(2, 2), k=3)
