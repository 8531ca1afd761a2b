"""Tables while they are drawn: their first version, history, files and expected rows; corpora and strategies."""
