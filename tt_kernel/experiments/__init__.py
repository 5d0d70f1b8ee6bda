"""WHAT YOU DO WITH RUNS: execute a notebook of them, verify, compare, explain, search, sweep, count and freeze.

May import `session` and everything below it. Read `execute.py` first.
"""
