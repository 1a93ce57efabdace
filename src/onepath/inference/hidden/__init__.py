"""Hidden states: readings with noise, velocities that nobody read, averages over an exposure."""
