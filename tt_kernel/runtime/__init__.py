"""THE RUN: the loop of turns, the dispatch of calls, limits and recovery, as one stream of events.

May import `toolkit`, `store` and `domain`. Read `invocation.py` first.
"""
