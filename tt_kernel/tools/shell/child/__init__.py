"""The shell's child process: bashkit and the language engines live here, so that their end is not the kernel's end.

Imports the standard library, `tools/shell/wire` and the engines, nothing else of the package: it must start in a few
hundredths of a second and must not need pydantic. Everything shown to the model that would differ from run to run (time,
chance, file dates) comes from the `Call`. Read `serve.py` first (the process), then `interpreter.py` (one command).
"""
