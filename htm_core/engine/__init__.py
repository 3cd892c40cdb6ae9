"""The parts of one robot's memory: store, models, rules and working memory."""
