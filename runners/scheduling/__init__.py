"""What the scheduler reads: the rows of a ledger folded into the state of every trial."""
