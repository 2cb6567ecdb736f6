"""The files that editors, patch and git leave next to a file that is being edited."""

from __future__ import annotations

import re

# Emacs, vi and Vim, JetBrains, patch and git mergetool, and programs that check a file during
# typing. Names that begin with a dot are hidden in any case, such as Emacs's locks and Vim's swap
# files.
_NAME = re.compile(r"\..*|#.*#|.*~|4913|.*___jb_(tmp|old)___|.*\.(orig|rej|bak|swp|tmp)"
                   r"|.*_(BACKUP|BASE|LOCAL|REMOTE)_\d+\..*|flycheck_.*|.*_flymake\..*")


def is_leftover(name: str) -> bool:
    """Whether a file or folder of this name is a by-product of editing, not work."""
    return _NAME.fullmatch(name) is not None
