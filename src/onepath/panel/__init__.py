"""Thousands of series: one long table in, tidy tables out, each series a row whatever became of it."""
