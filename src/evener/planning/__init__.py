"""Planning: what fits where, and how long it will take; arithmetic on sizes and rates that runs nothing."""
