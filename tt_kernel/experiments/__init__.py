"""WHAT YOU DO WITH RUNS: execute a notebook of them; verify, compare, branch and sweep come here.

May import `session` and everything below it. Read `execute.py` first.
"""
