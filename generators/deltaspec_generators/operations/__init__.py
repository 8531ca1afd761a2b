"""Operations that change a table: the actions of a commit, the condition for it, and how often it is drawn."""
