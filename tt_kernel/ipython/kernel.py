"""The kernel `tt-agent`: an IPython kernel in which `%%agent` is there from the first cell."""

from typing import Any

from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp

from tt_kernel import __version__
from tt_kernel.ipython.extension import install


class TTKernel(IPythonKernel):
    """Differs from ipykernel in its name, its banner and what is installed; all messages are handled by ipykernel."""

    implementation = "tt_kernel"
    implementation_version = __version__

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)  # type: ignore[no-untyped-call]
        # Not through the extension manager: `%load_ext tt_kernel` would then print that it is loaded already, and a notebook's
        # output would depend on the kernel (notes/frontend.md §4).
        install(self.shell)

    @property
    def banner(self) -> str:  # type: ignore[override]  # a property in ipykernel too
        return f"{super().banner}tt_kernel {self.implementation_version}: %%agent runs an agent, %agent? tells how\n"


def launch() -> None:
    """Run the kernel for the connection file named on the command line.

    The kernelspec starts Python with `-P`: otherwise `-m` puts the notebook's folder first on the path, and a random.py there
    breaks the kernel's own imports. IPython adds the folder later, behind the standard library.
    """
    IPKernelApp.launch_instance(kernel_class=TTKernel)
