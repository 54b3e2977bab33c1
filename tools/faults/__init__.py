"""Faults on purpose: what kills, full disks, damage, hostile files and outages leave of a run, with seeds and bounds."""
