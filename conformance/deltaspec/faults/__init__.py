"""Writers under faults: kill them, let them race, fill their disk, take away their permissions, and judge the table."""
