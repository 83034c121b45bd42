"""Applications that show what tablekit is for."""
