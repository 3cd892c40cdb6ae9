"""The engine of one memory: it joins store, models and working memory; its reads, its log, its
groups.
"""
