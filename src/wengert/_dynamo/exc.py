"""The errors of PyTorch's compiler, for scripts that catch them; none is raised here."""

__all__ = ["BackendCompilerFailed", "InternalTorchDynamoError", "TorchDynamoException", "TorchRuntimeError", "Unsupported", "UserError"]


class TorchDynamoException(RuntimeError):  # noqa: N818
    """The base of them."""


class InternalTorchDynamoError(TorchDynamoException):
    """A mistake of the compiler's own."""


class Unsupported(TorchDynamoException):
    """Something that the compiler cannot take."""


class UserError(Unsupported):
    """Something in the program that the compiler refuses."""


class BackendCompilerFailed(TorchDynamoException):
    """The backend of the compiler failed."""


class TorchRuntimeError(TorchDynamoException):
    """The program failed while it was looked at."""
