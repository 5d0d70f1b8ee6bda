"""THE AGENT FOLDER: every path and every byte that is kept, one noun a file.

May import `domain` only. Concrete: tests give it a temporary folder. Read `layout.py` first.
"""
