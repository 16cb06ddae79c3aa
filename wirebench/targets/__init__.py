"""Where services run: on this machine, in a cluster, or at given addresses."""
