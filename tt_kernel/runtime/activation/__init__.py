"""Which entries of the lorebooks are active in a run: spec tauritavern §16.2.

May import `toolkit`, `store` and `domain`; nothing here touches a file or a clock. Read `scan.py` first: the sweeps, and the
checks of an entry in their order. `keys.py` tells when a key matches, `timed.py` what earlier runs left behind, `placement.py`
where the text of active entries goes in a prompt.
"""

from tt_kernel.runtime.activation.macros import Macros
from tt_kernel.runtime.activation.placement import Placement, place, with_world_info
from tt_kernel.runtime.activation.scan import activate
from tt_kernel.runtime.activation.scene import Scene
from tt_kernel.runtime.activation.timed import remembered

__all__ = ["Macros", "Placement", "Scene", "activate", "place", "remembered", "with_world_info"]
