"""Workspaces with documents, comments and members, all in one table.

``python -m examples.workspace`` imports a folder of Markdown files and shows what one query gives.
"""
