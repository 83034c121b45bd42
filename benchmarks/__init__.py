"""The same work done by tablekit, by its peers, and by hand: ``python -m benchmarks``."""
