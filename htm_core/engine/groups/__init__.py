"""Groups: robots that share one working memory, with a heartbeat so that a lost robot
is replaced.
"""
