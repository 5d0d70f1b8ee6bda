"""WHAT YOU DO WITH RUNS: verify, compare, branch, sweep.

May import `session` and everything below it.
"""
