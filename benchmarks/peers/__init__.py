"""The libraries that are compared: each module has a class ``Peer`` with the methods that the worker calls.

``store(kind, values)`` puts one row; ``query(workspace)`` returns the rows of a partition; ``get``, ``put``, ``save``,
``batch_write``, ``batch_get`` and ``transaction`` do what they say, and are left out where the library has none.
``kind(object)`` and ``read(object, name)`` are for the checks; ``moment`` and ``number`` are the types that datetimes
and integers come back as, where they are not those.
"""
