"""`python -m tt_kernel -f FILE` is the kernel tt-agent (Jupyter starts it so); any other arguments are `tt`'s."""

import sys
from collections.abc import Sequence


def starts_kernel(arguments: Sequence[str]) -> bool:
    """Whether Jupyter asks for a kernel: a connection file is the first thing that it names."""
    return bool(arguments) and arguments[0].startswith(("-f", "--f=", "--IPKernelApp."))


def main() -> int:
    if starts_kernel(sys.argv[1:]):
        from tt_kernel.ipython.kernel import launch  # noqa: PLC0415  the command line needs no kernel

        launch()
        return 0
    from tt_kernel import cli  # noqa: PLC0415  the kernel needs no command line

    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
