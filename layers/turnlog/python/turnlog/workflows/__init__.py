"""Where long work is carried out: adapters of the ports that start it."""
