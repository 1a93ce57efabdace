"""From data and a graph to what is known: observation, search for parameters, completion, posterior, the fit."""
