"""Gaussian processes in weight space: kernels, their parameters as one vector, features, jets."""
