"""Equations: sparse sums of terms as hypotheses beside the Gaussian process, each with its evidence."""
