"""A stand-in for a language model: it multiplies and adds numbers, and counts words."""

from __future__ import annotations

import asyncio
import math
import os
import re

_THINKING = float(os.environ.get("THINKING", "0.01"))  # seconds; a model takes longer


async def ask(prompt: str) -> str:
    """The answer to a prompt: "6 * 7" gives "42", "1 + 2" gives "3", other texts their length."""
    await asyncio.sleep(_THINKING)
    numbers = [int(word) for word in re.findall(r"\d+", prompt)]
    if "*" in prompt:
        return str(math.prod(numbers))
    if "+" in prompt:
        return str(sum(numbers))
    return f"{len(prompt.split())} words"
