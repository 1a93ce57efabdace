"""The one-shot paper re-run: every table and figure, what it printed beside what its method and onepath give here."""
