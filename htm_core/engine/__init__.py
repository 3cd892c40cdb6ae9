"""What one robot's memory is made of: store, models, rules and working memory."""
