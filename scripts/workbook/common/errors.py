"""The one exception that a reader ever sees."""


class UserError(Exception):
    """Something the reader can put right: what happened, and the next step."""

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
