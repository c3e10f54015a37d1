"""Where PyTorch has what is defined here: its source is cut into other files than ours.

Files of pickles, ``type(layer).__module__`` and ``import`` statements speak of PyTorch's modules. The tables are read
in both directions, by the alias and by the readers and writers of files.
"""

from __future__ import annotations

import sys
from importlib import import_module
from operator import attrgetter
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.machinery import ModuleSpec
    from types import CodeType

OURS = __name__.partition(".")[0]
THEIRS = "torch"

# PyTorch's private modules that are here: where each is, and what is below it. Programs and libraries say these names.
MOVED = {
    **{n: f"compat.{n}" for n in (
        "_C", "_VF", "_dynamo", "_functorch", "_guards", "_jit_internal", "_logging", "_ops", "_subclasses",
        "_tensor_str", "_utils", "_vmap_internals")},
    "_higher_order_ops": "func.control_flow",
    "_subclasses.fake_tensor": "library.fake_tensor",
}
_KNOWN_AS = {ours: theirs for theirs, ours in MOVED.items()}

# A module that is requested by a name on the left, or below it, is the module on the right, which has the same public
# names.
HOMES = {
    "autograd._functions": "autograd.function",
    "_functorch.apis": "func.functorch", "_functorch.batch_norm_replacement": "func.functorch",
    "_functorch.deprecated": "func.deprecated", "_functorch.eager_transforms": "func.functorch",
    "_functorch.functional_call": "func.functorch", "_functorch.make_functional": "func.functorch",
    "_functorch.vmap": "compat.vmap_helpers", "_tensor": "tensor.tensor", "cpu.amp.autocast_mode": "cpu.amp",
    "cpu.amp.grad_scaler": "cpu.amp", "cuda.amp.autocast_mode": "cuda.amp", "cuda.amp.grad_scaler": "cuda.amp",
    "cuda.graphs": "cuda",
    "func.functorch.einops._parsing": "func.arrangement", "func.functorch.einops": "func.arrangement",
    "func.functorch.experimental.control_flow": "func.control_flow", "func.functorch.experimental": "func.functorch",
    "jit._script": "jit", "jit._state": "compat.jit_state", "jit._trace": "jit",
    "jit.annotations": "compat._jit_internal", "masked._ops": "masked",
    "nn.modules": "nn",
    "nn.modules.linear_cross_entropy_options": "nn.modules.loss", "nn.parameter": "nn",
    "nn.utils._named_member_accessor": "compat.named_members",
    **{f"optim.{n}": "optim" for n in ("adadelta", "adagrad", "adam", "adamax", "adamw", "optimizer", "rmsprop",
        "sgd")},
    "signal.windows.windows": "signal.windows", "testing._comparison": "testing.comparison",
    "testing._creation": "testing.creation", "utils.data._utils.collate": "utils.data.collate",
    "utils.data._utils.worker": "utils.data.worker", "utils.data._utils": "utils.data",
    "utils.tensorboard.writer": "utils.tensorboard",
}

# Packages of ours that PyTorch has no module for; torch.tensor is a function.
PRIVATE = frozenset(("arrays", "cli", "compat", "dispatch", "functions", "graph", "layouts", "names", "ops", "tensor",
    "transforms"))

# Modules of ours whose definitions PyTorch has elsewhere, all of them ...
_WHOLE = {
    "compat.lowlevel": "", "compat.streams": "", "functions.checks": "", "functions.settings": "",
    "autograd._core": "_C",
    "autograd._function_node": "autograd.function", "graph.modes": "autograd.grad_mode",
    "dispatch.function_modes": "overrides", "distributions.compound_transforms": "distributions.transforms",
    "optim.matrices": "optim", "optim._lr_base": "optim.lr_scheduler",
    **{f"serialization.{n}": "serialization" for n in ("archive", "container", "names")},
    "signal.windows": "signal.windows.windows",
    "testing.comparison": "testing._comparison", "testing.creation": "testing._creation",
    "utils._pytree_nodes": "utils._pytree",
    **{f"distributed.{n}": "distributed.distributed_c10d" for n in (
        "collectives", "group", "groups", "objects", "types", "work")},
    **{f"distributed.{n}": "distributed" for n in ("errors", "stores", "tcp_store")},
    **{f"utils.checkpoint.{n}": "utils.checkpoint" for n in ("recompute", "selective", "state")},
    "utils.data.collate": "utils.data._utils.collate", "utils.data.worker": "utils.data._utils.worker",
    **{f"func.{n}": "func" for n in ("arrangement", "gradients", "jacobians", "mapping", "modules")},
}
# ... or some.
_SOME = {
    "arrays.dtypes": {"": "dtype get_default_dtype set_default_dtype"},
    "amp.autocast_mode": {"": "is_autocast_enabled"},
    "autograd._mutation": {"autograd.graph": "allow_mutation_on_saved_tensors"},
    "compiler": {"": "compile"},
    "cpu.amp": {"cpu.amp.autocast_mode": "autocast", "cpu.amp.grad_scaler": "GradScaler"},
    "cuda": {"cuda.graphs": "CUDAGraph graph", "cuda.streams": "Event ExternalStream Stream"},
    "cuda.amp": {"cuda.amp.autocast_mode": "autocast custom_bwd custom_fwd", "cuda.amp.grad_scaler": "GradScaler"},
    "distributions.categories": {
        "distributions.categorical": "Categorical", "distributions.multinomial": "Multinomial",
        "distributions.one_hot_categorical": "OneHotCategorical OneHotCategoricalStraightThrough"},
    "distributions.compound": {
        "distributions.independent": "Independent", "distributions.mixture_same_family": "MixtureSameFamily",
        "distributions.transformed_distribution": "TransformedDistribution"},
    "distributions.counts": {
        "distributions.bernoulli": "Bernoulli", "distributions.binomial": "Binomial",
        "distributions.geometric": "Geometric", "distributions.negative_binomial": "NegativeBinomial",
        "distributions.poisson": "Poisson"},
    "distributions.derived": {
        "distributions.gumbel": "Gumbel", "distributions.half_cauchy": "HalfCauchy",
        "distributions.half_normal": "HalfNormal", "distributions.inverse_gamma": "InverseGamma",
        "distributions.kumaraswamy": "Kumaraswamy", "distributions.log_normal": "LogNormal",
        "distributions.logistic_normal": "LogisticNormal", "distributions.pareto": "Pareto",
        "distributions.relaxed_bernoulli": "LogitRelaxedBernoulli RelaxedBernoulli",
        "distributions.relaxed_categorical": "ExpRelaxedCategorical RelaxedOneHotCategorical",
        "distributions.weibull": "Weibull"},
    "distributions.distribution": {"distributions.exp_family": "ExponentialFamily"},
    "distributions.gaussian": {
        "distributions.lowrank_multivariate_normal": "LowRankMultivariateNormal",
        "distributions.multivariate_normal": "MultivariateNormal"},
    "distributions.matrices": {"distributions.lkj_cholesky": "LKJCholesky", "distributions.wishart": "Wishart"},
    "distributions.positive": {
        "distributions.chi2": "Chi2", "distributions.exponential": "Exponential",
        "distributions.fishersnedecor": "FisherSnedecor", "distributions.gamma": "Gamma"},
    "distributions.real_line": {
        "distributions.cauchy": "Cauchy", "distributions.generalized_pareto": "GeneralizedPareto",
        "distributions.laplace": "Laplace", "distributions.normal": "Normal", "distributions.studentT": "StudentT",
        "distributions.uniform": "Uniform", "distributions.von_mises": "VonMises"},
    "distributions.simplex": {
        "distributions.beta": "Beta", "distributions.continuous_bernoulli": "ContinuousBernoulli",
        "distributions.dirichlet": "Dirichlet"},
    "futures": {"": "Future"},
    "graph.handles": {"utils.hooks": "RemovableHandle"},
    "graph.modes": {"": "is_grad_enabled is_inference_mode_enabled"},
    "jit": {"jit._script": "Attribute ScriptModule", "jit._trace": "TracerWarning"},
    "nn.modules._hooks": {"nn.modules.module": "_WrappedHook " + " ".join(f"register_module_{n}" for n in (
        "backward_hook", "buffer_registration_hook", "forward_hook", "forward_pre_hook", "full_backward_hook",
        "full_backward_pre_hook", "module_registration_hook", "parameter_registration_hook"))},
    "nn.modules._state": {"nn.modules.module": "_IncompatibleKeys"},
    "nn.modules.attention": {"nn.modules.activation": "MultiheadAttention"},
    "nn.modules.batchnorm": {"nn.modules.instancenorm": "_InstanceNorm " + " ".join(
        f"{lazy}InstanceNorm{n}d" for lazy in ("", "Lazy") for n in (1, 2, 3))},
    "nn.modules.loss": {"nn.modules.linear_cross_entropy_options": "LinearCrossEntropyOptions",
        "nn.modules.adaptive": "AdaptiveLogSoftmaxWithLoss _ASMoutput",
        "nn.modules.distance": "CosineSimilarity PairwiseDistance"},
    "nn.modules.shapes": {
        "nn.modules.channelshuffle": "ChannelShuffle", "nn.modules.flatten": "Flatten Unflatten",
        "nn.modules.fold": "Fold Unfold", "nn.modules.pixelshuffle": "PixelShuffle PixelUnshuffle",
        "nn.modules.upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d"},
    "nn.parallel": {
        "nn.parallel.data_parallel": "DataParallel data_parallel", "nn.parallel.distributed": "DistributedDataParallel",
        "nn.parallel.scatter_gather": "gather scatter scatter_kwargs"},
    "optim.adam": {f"optim.{n.lower()}": n for n in ("Adamax", "AdamW", "NAdam", "RAdam")} | {
        "optim.sparse_adam": "SparseAdam"},
    "optim.sgd": {f"optim.{n.lower()}": n for n in ("Adadelta", "Adagrad", "ASGD", "RMSprop", "Rprop")},
    "tensor.types": {"": "Size device finfo iinfo layout memory_format"},
    "functions.generators": {"_C": "Generator",
        "random": "fork_rng get_rng_state initial_seed manual_seed seed set_rng_state"},
    "dispatch.torch_function": {"overrides": "handle_torch_function is_tensor_like"},
    "utils.data.fetch": {"utils.data.dataloader": "_DatasetKind"},
}
_BY_NAME = {(ours, name): theirs for ours, cut in _SOME.items() for theirs, names in cut.items()
    for name in names.split()}


def _translated(name: str, table: dict[str, str]) -> str | None:
    home = name
    while home and home not in table:
        home = home.rpartition(".")[0]
    return table[home] + name[len(home) :] if home else None


def moved(name: str) -> str | None:
    """Where PyTorch's private module ``name`` is, below our package; None if it is at its own place, or nowhere.

    >>> moved("_dynamo.config"), moved("_subclasses.fake_tensor")
    ('compat._dynamo.config', 'library.fake_tensor')
    """
    return _translated(name, MOVED)


def known_as(name: str) -> str:
    """The public name of our module ``name``: the inverse of :func:`moved`."""
    return _translated(name, _KNOWN_AS) or name


def their_module(module: str, name: str) -> str | None:
    """PyTorch's module for what ``module`` of ours defines as ``name``; None if PyTorch has no such module.

    >>> their_module("wengert.nn.modules.attention", "MultiheadAttention")
    'torch.nn.modules.activation'
    """
    top, _, rest = module.partition(".")
    if top not in (OURS, THEIRS):
        return None
    found = _BY_NAME.get((rest, name.partition(".")[0]))
    if found is None:
        found = _WHOLE.get(rest)
    if found is None:
        found = known_as(rest)
        if found.partition(".")[0] in PRIVATE:
            return None
    return f"{THEIRS}.{found}".rstrip(".")


def our_modules(name: str) -> Iterator[str]:
    """The modules of ours, without the package's name, that could be PyTorch's module ``name``; the likeliest first."""
    yield name
    for home, ours in HOMES.items():
        if name == home or name.startswith(home + "."):
            yield ours


def find(module: str, name: str) -> Any:
    """What PyTorch has as ``module.name``; None if there is none here. Only this package's modules are imported."""
    top, _, rest = module.partition(".")
    if top not in (OURS, THEIRS):
        return None
    for candidate in our_modules(rest):
        full = f"{OURS}.{candidate}".rstrip(".")
        try:
            return attrgetter(name)(sys.modules.get(full) or import_module(full))
        except (ImportError, AttributeError):
            continue
    return None


# Packages whose modules have PyTorch's names, and nothing below them.
_SEEN = ("nn.modules.", "optim.", "distributions.", "utils.data.")


def present_as_theirs(module: ModuleType) -> None:
    """Let the classes and functions that a module of ours defines say that they are from PyTorch's."""
    home = module.__spec__.name if module.__spec__ else module.__name__  # its name may be PyTorch's by now
    rest = home.partition(".")[2]
    if rest.startswith(_SEEN) and not hasattr(module, "__path__"):
        # where inspect and typing look for what a class was defined with
        sys.modules.setdefault(f"{THEIRS}.{rest}", module)
    whole, parts = their_module(home, ""), rest in _SOME
    if whole is None and not parts:  # what is ours alone
        return
    for value in list(vars(module).values()):
        if isinstance(value, (type, FunctionType)) and value.__module__ == home:
            theirs = their_module(home, value.__qualname__) if parts else whole
            if theirs is not None:
                value.__module__ = theirs


def present_as_ours(module: ModuleType) -> None:
    """Undo :func:`present_as_theirs`."""
    home = module.__spec__.name if module.__spec__ else module.__name__
    for value in list(vars(module).values()):
        if isinstance(value, (type, FunctionType)) and value.__module__ == their_module(home, value.__qualname__):
            value.__module__ = home


class Loader:
    """Hands out a module that is loaded already, as it is, under another name."""

    def __init__(self, module: ModuleType):
        self.module = module
        self.spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module."""
        return self.module

    def get_code(self, name: str) -> CodeType | None:
        """The code of the module, for ``-m``."""
        loader = self.spec.loader if self.spec else None
        return loader.get_code(self.spec.name) if hasattr(loader, "get_code") else None  # type: ignore[union-attr]

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is run."""
        other = module.__spec__.name if module.__spec__ else module.__name__  # the import system has put it there
        module.__spec__ = self.spec
        self._keep_shadowed(module, other)

    def _keep_shadowed(self, package: ModuleType, other: str) -> None:
        # A package's own attribute wins over its module of the same name, as ``autograd.gradcheck``, the function,
        # does. Importing a module for the first time would put it in the package's namespace; one in ``sys.modules`` is
        # left.
        home = self.spec.name if self.spec else package.__name__
        for name, value in list(vars(package).items()):
            module = sys.modules.get(f"{home}.{name}")
            if module is not None and value is not module:
                sys.modules[f"{other}.{name}"] = module
