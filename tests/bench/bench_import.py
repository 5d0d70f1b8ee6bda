"""Time to import the package and to load the extension into an IPython that is already running. Prints; asserts nothing."""

import statistics
import subprocess
import sys

CASES = {
    "import tt_kernel": ("", "import tt_kernel"),
    "%load_ext tt_kernel": (
        "from IPython.core.interactiveshell import InteractiveShell; import ipykernel.ipkernel; ip = InteractiveShell.instance()",
        "ip.run_line_magic('load_ext', 'tt_kernel')",
    ),
    "first Session": ("import tt_kernel", "from tt_kernel import Session"),
}


def milliseconds(before: str, what: str) -> float:
    code = f"import time\n{before}\nt = time.perf_counter()\n{what}\nprint((time.perf_counter() - t) * 1e3)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def main() -> None:
    for name, (before, what) in CASES.items():
        times = [milliseconds(before, what) for _ in range(5)]
        print(f"{name}: {statistics.median(times):.0f} ms (minimum {min(times):.0f})")


if __name__ == "__main__":
    main()
