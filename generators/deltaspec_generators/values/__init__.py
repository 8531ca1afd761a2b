"""Values of every Delta type: drawn, as Arrow arrays, as variants, as texts of partition values."""
