"""Writers under faults: kill them, let them race, fill their disk, remove their permissions, and judge the table."""
