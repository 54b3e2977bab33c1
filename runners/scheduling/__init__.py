"""The scheduler's input: the rows of a ledger folded into the state of every trial."""
