"""What is known after completion, and the programs that evaluate it at points."""
