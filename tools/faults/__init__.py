"""Fault injection: what kills, full disks, damage, hostile files and outages leave of a run, with seeds."""
