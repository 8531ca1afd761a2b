"""Rules over tables with Iceberg compatibility."""
