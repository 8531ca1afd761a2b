"""Kinds of repair. Each module proposes changes for some findings, and says why it does not repair the others."""
