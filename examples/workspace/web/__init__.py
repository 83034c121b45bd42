"""The workspaces in a browser: Starlette, Jinja2, and the models of `examples.workspace.models`.

``python -m examples.workspace.web`` serves it on 127.0.0.1, on an engine of its own whose data is kept between runs.

Endpoints are plain functions, which `handling` runs in worker threads: pages are made by the same synchronous code
that a script would use, and a thread that waits for DynamoDB keeps no other request waiting. An application that
keeps thousands of slow requests open would await ``.aio`` instead; the calls are the same.
"""
