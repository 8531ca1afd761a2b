"""Views of file actions and what replay makes of them."""
