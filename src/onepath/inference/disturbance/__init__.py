"""How increments lie about their means: jumps, heavy tails, noise whose level changes with time."""
