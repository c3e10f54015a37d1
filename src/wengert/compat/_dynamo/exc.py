"""The errors of PyTorch's compiler, for scripts that catch them; one is raised here."""

__all__ = [
    "BackendCompilerFailed", "InternalTorchDynamoError", "InvalidBackend", "TorchDynamoException", "TorchRuntimeError",
    "Unsupported", "UserError",
]


class TorchDynamoException(RuntimeError):  # noqa: N818
    """The base of them."""


class InternalTorchDynamoError(TorchDynamoException):
    """A mistake of the compiler's own."""


class InvalidBackend(TorchDynamoException):
    """``torch.compile`` was given a backend of an unknown name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.")


class Unsupported(TorchDynamoException):
    """Something that the compiler cannot take."""


class UserError(Unsupported):
    """Something in the program that the compiler refuses."""


class BackendCompilerFailed(TorchDynamoException):
    """The backend of the compiler failed."""


class TorchRuntimeError(TorchDynamoException):
    """The program failed while it was looked at."""
