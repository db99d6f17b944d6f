"""Hashes: what a file of the user's is known by in the fingerprint.

A `.py` file by its code: comments, docstrings, blank lines and layout are free to change, anything else isn't. Every
other file by its bytes.
"""

from __future__ import annotations

import ast
from hashlib import sha256

_SILENT = ("ctx", "type_comment")
"""Fields that follow from others, or are comments."""


def content_hash(name: str, data: bytes) -> str:
    """The hash of what matters in a file.

    Examples
    --------
    >>> content_hash("a.py", b"x=(1) # one") == content_hash("a.py", b"x = 1") != content_hash("a.py", b"x = 2")
    True
    """
    if name.endswith(".py"):
        try:
            return sha256(_plain(ast.parse(data)).encode()).hexdigest()
        except (SyntaxError, ValueError, RecursionError):  # no code: whoever runs it will say so
            pass
    return sha256(data).hexdigest()


def _plain(node: object) -> str:
    """A syntax tree as text, without texts that stand alone as statements: they do nothing but document.

    `ast.dump` and `ast.unparse` differ from one Python to the next; with fields by name and empty ones left out, new
    fields change nothing, so other versions agree as far as they read the file alike. (Code that reads its own
    `__doc__` is not noticed.)
    """
    if isinstance(node, list):
        return f"[{','.join(_plain(each) for each in node if not _is_text(each))}]"
    if isinstance(node, ast.Constant):
        return f"{type(node.value).__name__}:{node.value!r}"
    if isinstance(node, ast.AST):
        fields = sorted(set(node._fields) - set(_SILENT))
        given = ((name, getattr(node, name, None)) for name in fields)
        parts = (f"{name}={_plain(value)}" for name, value in given if value is not None and value != [])
        return f"{type(node).__name__}({','.join(parts)})"
    return repr(node)


def _is_text(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
