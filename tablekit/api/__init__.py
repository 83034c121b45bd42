"""The public faces: what users call."""
