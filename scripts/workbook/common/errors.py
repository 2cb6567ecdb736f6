"""The exceptions whose messages a reader sees."""


class UserError(Exception):
    """A problem that the reader can solve: what happened, and the next step."""

    exit_code = 1

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix


class UsageError(UserError):
    """The command line names something that does not exist, or combines what can't be combined."""

    exit_code = 2
