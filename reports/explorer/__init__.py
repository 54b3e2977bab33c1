"""An interactive page about one experiment, for a browser without network: `steeplechase explore`."""
