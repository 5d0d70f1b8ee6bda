"""ONE NOTEBOOK: its store, catalog, providers and runs wired together; the only place that knows them all.

May import everything but `experiments`, `ipython` and `cli`. Read `core.py` first, then `assembly.py` (what one run is made of).
"""
