"""The computational graph: known and unknown functions, links and a law turn a state into a Gaussian increment."""
