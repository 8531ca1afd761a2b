"""Views of file actions and of the result of replaying them."""
