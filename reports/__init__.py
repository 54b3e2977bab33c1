"""What was learned: a snapshot of the ledger in; a finding with its tables and figures out."""
