"""How many arms a design may have: more are no table, and are refused before any is made."""

ARMS_AT_MOST = 1024
