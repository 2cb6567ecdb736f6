"""The exceptions that a reader ever sees."""


class UserError(Exception):
    """Something the reader can put right: what happened, and the next step."""

    exit_code = 1

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix


class UsageError(UserError):
    """The command line names something that does not exist, or that does not go together."""

    exit_code = 2
