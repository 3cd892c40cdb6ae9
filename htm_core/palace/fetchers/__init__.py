"""Fetchers of artifacts: issues and wiki pages over HTTP, files below a folder, loaders and
retrievers of frameworks.

Each is a `Fetcher`: `Palace.register(fetcher)` makes an artifact of everything that it lists, and
`Palace.artifact(uri, fetch=fetcher)` of one thing.
"""
