"""How JAX is run: linear algebra, double precision, compiled programs, and a few helpers that need nothing else."""
