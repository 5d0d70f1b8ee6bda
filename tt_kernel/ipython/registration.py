"""The kernel tt-agent in Jupyter's list of kernels."""

import json
import shutil
import sys
import tempfile
from pathlib import Path

KERNEL_NAME = "tt-agent"
KERNELSPEC = Path(__file__).parent / "kernelspec"


def register_kernel(prefix: str | None = None) -> Path:
    """Register the kernel of this Python environment.

    The wheel carries the same kernelspec for the environment that it is installed in. A registration outside of it must
    name this interpreter, because Jupyter would start its own.

    Args:
        prefix: Register below `<prefix>/share/jupyter/kernels`; None: for this user.

    Returns:
        The folder of the registered kernelspec.
    """
    from jupyter_client.kernelspec import KernelSpecManager  # noqa: PLC0415  needed here only

    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / KERNEL_NAME
        shutil.copytree(KERNELSPEC, source, ignore=shutil.ignore_patterns("__pycache__", "*.py"))
        document = source / "kernel.json"
        spec = json.loads(document.read_text(encoding="utf-8"))
        spec["argv"][0] = sys.executable
        document.write_text(json.dumps(spec, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        manager = KernelSpecManager()
        return Path(manager.install_kernel_spec(str(source), KERNEL_NAME, user=prefix is None, prefix=prefix))


def registered_kernel() -> Path | None:
    """The folder of the kernelspec that Jupyter would use, if there is one."""
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel  # noqa: PLC0415  needed here only

    try:
        return Path(KernelSpecManager().get_kernel_spec(KERNEL_NAME).resource_dir)
    except NoSuchKernel:
        return None
