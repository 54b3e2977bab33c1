"""The ledger: arms, trials, records, decisions and stage results, and functions of these alone."""
