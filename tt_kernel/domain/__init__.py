"""THE WORDS: frozen types that every layer speaks.

No I/O, no clock, no randomness, no await. May import nothing of the package.
Read `calls.py` first (what a tool call is), then `events.py` (what a run is).
"""
