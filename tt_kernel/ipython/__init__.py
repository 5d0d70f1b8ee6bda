"""THE NOTEBOOK SIDE: the only place that knows IPython and Jupyter.

May import `experiments` and everything below it. Read `magics.py` first.
"""
