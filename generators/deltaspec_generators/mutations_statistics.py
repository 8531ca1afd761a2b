"""Tables broken in statistics that the rows contradict; level `rows` shows it."""
