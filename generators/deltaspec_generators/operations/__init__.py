"""Operations that change a table: what a commit does, when it may, and how often it is drawn."""
