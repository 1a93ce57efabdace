"""Known truth and other methods to compare with; the paper re-run."""
