"""From what a user hands in to cells: trajectories, clocks, transitions, and transitions merged."""
