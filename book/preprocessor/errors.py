"""The errors of the preprocessor."""


class DirectiveError(Exception):
    """A directive that names something missing, or is malformed; the message is for the author."""


class NotFound(DirectiveError):
    """A file lacks the requested name."""
