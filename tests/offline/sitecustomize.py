"""See loopback_only.py."""

import loopback_only  # noqa: F401  importing it is the point
