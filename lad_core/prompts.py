"""What the model is asked, in the paper's words, and by which names the images go."""

from __future__ import annotations

import string

IDENTIFIER_FORMATS = ("numbers", "letters", "lowercase", "roman", "words")

_NAMES: dict[str, tuple[str, ...]] = {
    "numbers": tuple(str(i) for i in range(1, 13)),
    "letters": tuple(string.ascii_uppercase[:12]),
    "lowercase": tuple(string.ascii_lowercase[:12]),
    "roman": ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"),
    "words": (
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    ),
}  # fmt: skip
_KIND = {"numbers": "number", "letters": "letter", "lowercase": "letter", "roman": "numeral", "words": "word"}


def identifiers(n: int, format: str = "numbers") -> tuple[str, ...]:
    """The names of ``n`` seats in one of :data:`IDENTIFIER_FORMATS` (the paper's Figure 8).

    Raises:
        ValueError: unknown ``format``, or ``n`` outside 1 to 12.
    """
    if format not in _NAMES:
        raise ValueError(f"identifiers must be one of {', '.join(IDENTIFIER_FORMATS)}, not {format!r}.")
    if not 1 <= n <= len(_NAMES[format]):
        raise ValueError(f"n must be between 1 and {len(_NAMES[format])}, not {n}.")
    return _NAMES[format][:n]


def prompt(query: str, n: int, format: str = "numbers") -> str:
    """The text of the user turn after its ``n`` images: the paper's prompt, for any identifier format."""
    names = identifiers(n, format)
    return (
        f"Given {n} images indexed from {names[0]} to {names[-1]}, identify the image that best matches the "
        f"provided caption. Respond with the index {_KIND[format]} only and nothing else.\n"
        f"Caption: {query}\n"
        f"Answer: "
    )
