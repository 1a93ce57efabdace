"""Files: tables in, model files out and in. Import what is needed: tables know nothing of the engine."""
