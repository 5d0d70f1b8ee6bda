"""THE MODELS: everything behind a `provider:model` name.

May import `toolkit`, `store` and `domain`. Heavy libraries are imported inside functions. Read `names.py` first.
"""
