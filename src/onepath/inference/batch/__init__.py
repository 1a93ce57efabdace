"""Many series of one dimension fitted as one program: what a fit of one does, under `vmap`."""
