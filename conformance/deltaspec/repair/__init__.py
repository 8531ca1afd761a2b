"""Repair of a table: a plan, its proof on an overlay of the table, and its application when the user asks for it.

`plan_format` defines a plan, `overlay_store` shows a table as a plan would leave it. Only `apply` writes into a table.
"""
