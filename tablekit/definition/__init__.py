"""What happens when a class is made: fields, keys, schema, registry."""
