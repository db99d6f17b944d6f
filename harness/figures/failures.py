from typing import Any
draw: Any = None
