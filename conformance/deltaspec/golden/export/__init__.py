"""Write golden cases in the layouts that other clients read, and as a release archive."""
