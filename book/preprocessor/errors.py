"""What a page can get wrong."""


class DirectiveError(Exception):
    """A directive that names something missing or means nothing; the text is for the author."""


class NotFound(DirectiveError):
    """A file that lacks the name asked for."""
