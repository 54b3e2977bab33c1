"""Reports: from a snapshot of the ledger to a finding with its tables and figures."""
