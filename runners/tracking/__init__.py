"""The MLflow mirror: the ledger, shown in MLflow. It can be thrown away and rebuilt; nothing ever reads from it.

Importing this package is light. MLflow itself is imported by `door` alone, and only when a store is opened.
"""

from runners.tracking.errors import TrackingUnavailable
from runners.tracking.server import serve
from runners.tracking.store import TrackingStore
from runners.tracking.sync import Patience, SyncSummary, mirror

__all__ = ["Patience", "SyncSummary", "TrackingStore", "TrackingUnavailable", "mirror", "serve"]
