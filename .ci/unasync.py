"""Write the synchronous client from the asynchronous one, or check that it is current: ``unasync.py write|check``.

The two surfaces are one source, so they cannot drift. Only ``io.py`` is written twice, by hand.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).resolve().parent.parent / "layers/turnlog/python/turnlog/client"
BY_HAND = ("__init__.py", "io.py")
NOTE = "# Made from ../_async/{name} by .ci/unasync.py: change that one.\n"

WORDS = (
    (r"AsyncIterator", "Iterator"),
    (r"@asynccontextmanager", "@contextmanager"),
    (r"import asynccontextmanager", "import contextmanager"),
    (r"httpx\.AsyncBaseTransport", "httpx.BaseTransport"),
    (r"httpx\.AsyncHTTPTransport", "httpx.HTTPTransport"),
    (r"httpx\.AsyncClient", "httpx.Client"),
    (r"\bAsync(Client|ClientOptions|Compactions|Session|Pager|Token)\b", r"\1"),
    (r"Awaitable\[(Page\[T\])\]", r"\1"),
    (r"(import .*)\bAwaitable, ", r"\1"),
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"__aenter__", "__enter__"),
    (r"__aexit__", "__exit__"),
    (r"__aiter__", "__iter__"),
    (r"\baclose\b", "close"),
    (r"\baread\b", "read"),
    (r"httpx\.AsyncByteStream", "httpx.SyncByteStream"),
    (r"for item in page.items:\n\s+yield item", "yield from page.items"),
    (r"between tasks", "between threads"),
)


def synchronous(source: str, name: str) -> str:
    """The synchronous form of a module."""
    for pattern, word in WORDS:
        source = re.sub(pattern, word, source)
    return NOTE.format(name=name) + source


def formatted(text: str) -> str:
    """As ``ruff`` lays it out: lines get shorter, imports change their order."""
    for words in (["check", "--quiet", "--fix-only", "--select", "I"], ["format", "--quiet"]):
        command = ["ruff", *words, "--stdin-filename", str(CLIENT / "_sync/module.py"), "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return text


def main(words: list[str]) -> int:
    """``write`` the modules, or ``check`` them; returns the exit status."""
    stale = []
    for path in sorted((CLIENT / "_async").glob("*.py")):
        if path.name in BY_HAND:
            continue
        target = CLIENT / "_sync" / path.name
        text = formatted(synchronous(path.read_text(encoding="utf-8"), path.name))
        if words == ["write"]:
            target.write_text(text, encoding="utf-8")
        elif not target.is_file() or target.read_text(encoding="utf-8") != text:
            stale.append(target.name)
    if stale:
        print(f"client/_sync is not current ({', '.join(stale)}): run make format")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
