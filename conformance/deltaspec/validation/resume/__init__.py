"""Resume state: what a run has done, saved so that another run can continue."""
