"""Names that several files of the integration use."""

import re
from typing import Final

DOMAIN: Final = "tapdeck"
PORT: Final = 7497
CONF_IDENTITY: Final = "identity"
CONF_SECRET: Final = "secret"


def script_of(path: str) -> str:
    """A path as a launch script: docs/SCRIPT.md names the characters that have a meaning in scripts."""
    return re.sub(r"\^|\?|\|\||\[\[", lambda mark: "".join(f"^{one}" for one in mark.group()), path)
