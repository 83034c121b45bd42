"""Python type to attribute value, and back."""
