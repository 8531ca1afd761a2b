"""Extract the smallest table that still shows a finding."""
