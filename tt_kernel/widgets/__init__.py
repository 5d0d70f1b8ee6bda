"""WHAT A RUN LOOKS LIKE: run view to html, markdown and text; and the form in which a profile is edited.

May import `domain` only (and anywidget). Pure functions of a RunView, and a widget that passes messages on. Read `bundle.py` first.
"""
