"""The MLflow mirror of the ledger. It can be deleted and rebuilt; no other part reads from it.

Importing this package is light: only `mlflow_client` imports MLflow, when a store is opened.
"""

from runners.tracking.connectivity import TrackingUnavailable
from runners.tracking.server import serve
from runners.tracking.store import TrackingStore
from runners.tracking.sync import Patience, SyncSummary, mirror

__all__ = ["Patience", "SyncSummary", "TrackingStore", "TrackingUnavailable", "mirror", "serve"]
