"""Questions that ask for a list ("list all incidents", "everything I bought for the garden"), over two worlds written for them."""
