"""Rules over checkpoints: complete ones, their files and columns, and their differences from replay."""
