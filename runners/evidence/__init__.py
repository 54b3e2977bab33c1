"""What the ledger shows: how trials stand and what they were measured to be. Read, never written."""
