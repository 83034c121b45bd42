"""Sending requests, and what each verb does with the answer."""
