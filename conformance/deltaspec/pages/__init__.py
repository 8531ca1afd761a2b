"""Self-contained HTML pages: the shell, styles and scripts that the matrix and the validation report share."""
