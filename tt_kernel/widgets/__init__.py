"""WHAT A RUN LOOKS LIKE: run view to html, markdown and text.

May import `domain` only (and anywidget). Pure functions of a RunView. Read `bundle.py` first.
"""
