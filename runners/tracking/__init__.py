"""The MLflow mirror: the ledger, shown in MLflow. It can be thrown away and rebuilt; nothing ever reads from it.

Importing this package is light. MLflow itself is imported by `door` alone, and only when a store is opened.
"""

from runners.tracking.mirror import MirrorSummary, Patience, mirror
from runners.tracking.outage import TrackingUnavailable
from runners.tracking.server import serve
from runners.tracking.store import TrackingStore

__all__ = ["MirrorSummary", "Patience", "TrackingStore", "TrackingUnavailable", "mirror", "serve"]
