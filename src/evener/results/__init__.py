"""Results of a run: arrays by name, tables, reports and energy."""
