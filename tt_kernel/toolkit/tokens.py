"""How many tokens a text is, roughly, without a tokenizer: a quarter of a token for an ASCII character, a whole one for others.

Western text is overestimated a little where it has accents; Chinese, Japanese and Korean come out right.
"""


def estimated_tokens(text: str) -> int:
    """At least 1 for text that is not empty."""
    plain = len(text.encode("ascii", "ignore"))
    return -(-plain // 4) + len(text) - plain
