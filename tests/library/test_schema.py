"""Schemas of operators that users define: what is inferred, what is refused and in which words; and what checks of them
say.
"""

# ruff: noqa: UP006, UP045  (the annotations are what is tested)
import importlib
import typing

import pytest


@pytest.fixture
def library(torch):
    return importlib.import_module(f"{torch.__name__}.library")


def test_what_is_inferred(torch, library):
    Tensor = torch.Tensor

    def plain(x: Tensor, y: typing.Optional[typing.List[int]] = None, d: torch.dtype = torch.float32) -> Tensor: ...
    def several(x: typing.List[Tensor], *, k: float = 2.0) -> typing.Tuple[Tensor, int]: ...

    assert (library.infer_schema(plain, mutates_args=()) == "(Tensor x, SymInt[]? y=None, ScalarType d=float32) -> "
        "Tensor")
    assert library.infer_schema(plain, mutates_args={"x"}).startswith("(Tensor(a0!) x,")
    assert (library.infer_schema(several, mutates_args="unknown") == "(Tensor(a0!)[] x, *, float k=2.0) -> (Tensor, "
        "SymInt)")


def refused(torch):
    Tensor = torch.Tensor

    def pairs(x: Tensor, z: typing.Tuple[int, int]) -> Tensor: ...
    def words(x: Tensor, y: typing.List[str]) -> Tensor: ...
    def number(x: complex, y: Tensor) -> Tensor: ...
    def maybe(x: Tensor) -> typing.Optional[Tensor]: ...
    def default(x: Tensor, y: int = [1]) -> Tensor: ...
    def good(x: Tensor) -> Tensor: ...

    return (
        (pairs, (), "We do not support Tuple inputs in schema. As a workaround, please try to use List instead. For "
            "example, list\\[int\\]"),
        (words, (), "Parameter y has unsupported type typing.List\\[str\\]. The valid types are: dict_keys"),
        (number, (), "Parameter x has unsupported type <class 'complex'>"),
        (maybe, (), "Return has unsupported type"),
        (default, (),
            "Parameter y has an unsupported default value type <class 'list'>. Please file an issue on GitHub"),
        (good, {"q"}, "{'q'} in mutates_args were not found in the custom op's signature"),
        (good, "x", "mutates_args must either be a sequence of the names of the arguments that are mutated or the "
            "string 'unknown'"),
    )


@pytest.mark.parametrize("case", range(7))
def test_what_has_no_schema(torch, library, case):
    function, written, message = refused(torch)[case]
    with pytest.raises(ValueError, match=message):
        library.infer_schema(function, mutates_args=written)


def test_refused_definitions(torch, library):
    with pytest.raises(ValueError, match='Expected `qualname` to be of the form "namespace::name", but got nothing'):
        library.define("nothing", "(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="expected schema to look like e.g."):
        library.define("wengert_schemas::a", "Tensor x -> Tensor")
    with pytest.raises(RuntimeError, match="unknown type specifier"):
        library.define("wengert_schemas::b", "(Foo x) -> Tensor")
    with pytest.raises(ValueError, match="The schema suggests that the op mutates set"):
        library.custom_op("wengert_schemas::c", lambda x: x, mutates_args={"x"}, schema="(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match=r"register_fake\(3\): got unexpected type for op: <class 'int'>"):
        library.register_fake(3, lambda x: x)
    with pytest.raises(RuntimeError, match="operator wengert_schemas::nosuch does not exist"):
        library.register_fake("wengert_schemas::nosuch", lambda x: x)


def test_results_that_are_not_what_the_schema_says(torch, library):
    number = library.custom_op("wengert_schemas::number", lambda x: 3, mutates_args=(), schema="(Tensor x) -> Tensor")
    single = library.custom_op("wengert_schemas::single", lambda x: x.clone(), mutates_args=(),
        schema="(Tensor x) -> (Tensor, Tensor)")
    with pytest.raises(RuntimeError, match="Unable to cast 3 to Tensor"):
        number(torch.ones(2))
    with pytest.raises(TypeError, match="Object of type 'Tensor' is not an instance of 'sequence'"):
        single(torch.ones(2))
    with pytest.raises(RuntimeError, match="number\\(\\) is missing value for argument 'x'"):
        number(y=torch.ones(2))
    assert str(torch.ops.wengert_schemas.number.default._schema) == "wengert_schemas::number(Tensor x) -> Tensor"
    with pytest.raises(RuntimeError, match="device type at start of device string: foo"):
        number.register_kernel("foo")(lambda x: x)


def test_gradients_that_do_not_fit(torch, library):
    x = torch.ones(2, requires_grad=True)
    few = library.custom_op("wengert_schemas::few", lambda x, y: x * y, mutates_args=(),
        schema="(Tensor x, Tensor y) -> Tensor")
    few.register_autograd(lambda ctx, g: g)
    with pytest.raises(RuntimeError, match="returned an incorrect number of gradients"):
        few(x, x).sum().backward()
    listed = library.custom_op("wengert_schemas::listed", lambda xs: sum(xs), mutates_args=(),
        schema="(Tensor[] xs) -> Tensor")
    listed.register_autograd(lambda ctx, g: [g])
    with pytest.raises(RuntimeError,
            match="Expected the return from backward to be of the same structure as the inputs"):
        listed([x, x]).sum().backward()
    number = library.custom_op("wengert_schemas::times", lambda x, k: x * k, mutates_args=(),
        schema="(Tensor x, int k) -> Tensor")
    number.register_autograd(lambda ctx, g: (g, g))
    with pytest.raises(RuntimeError,
            match="returned a gradient different than None at position 2, but the corresponding forward input was not"):
        number(x, 2).sum().backward()


def test_what_checks_say(torch, library):
    x = torch.ones(2)
    good = library.custom_op("wengert_schemas::good", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(Exception,
            match="test_faketensor failed with There was no fake impl registered for <CustomOpDef"):
        library.opcheck(good, (x,))
    good.register_fake(lambda x: torch.empty_like(x))
    tests = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    assert library.opcheck(good, (x,)) == dict.fromkeys(tests, "SUCCESS")
    assert library.opcheck(good, (x,), test_utils="test_schema") == {"test_schema": "SUCCESS"}
    with pytest.raises(ValueError, match="expected test_utils to be subset of"):
        library.opcheck(good, (x,), test_utils="foo")
    with pytest.raises(ValueError, match="op must be instance of torch._ops.OpOverload"):
        library.opcheck(lambda x: x, (x,))
    wrong = library.custom_op("wengert_schemas::wrong", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    wrong.register_fake(lambda x: x.new_empty(5))
    with pytest.raises(Exception, match=r"Shapes torch.Size\(\[2\]\) and torch.Size\(\[5\]\) are not equal"):
        library.opcheck(wrong, (x,), test_utils="test_faketensor")

    def written(x):
        x.add_(1)
        return x.clone()

    secret = library.custom_op("wengert_schemas::secret", written, mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(Exception, match="test_schema failed with Argument x is not defined as mutable but was mutated"):
        library.opcheck(secret, (x,))
