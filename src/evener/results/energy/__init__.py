"""Energy counters and the meter that reads them."""
