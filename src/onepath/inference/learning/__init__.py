"""Learning the parameters θ of a graph: criteria, priors, optimisers, hypotheses."""
