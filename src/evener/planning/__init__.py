"""Planning: predict placement, memory and time from sizes and rates, without running anything."""
