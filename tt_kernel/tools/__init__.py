"""THE BUILT-IN TOOLS: one module or small package per family; families do not know each other.

May import `toolkit`, `store` and `domain`. A family is a list of declarations and what they touch: read `dice.py` first.
"""
