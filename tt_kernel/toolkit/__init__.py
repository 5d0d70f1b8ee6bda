"""HOW ANY TOOL WORKS: declaration, schema, catalog, call names, snapshot, gate, permissions and the stack of call policies.

May import `domain` only. Read `tool.py` first (what a tool is here), then `declare.py` (how one is written), `pipeline.py`.
"""
