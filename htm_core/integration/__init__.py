"""What every edge does alike: adapters of frameworks, tools, servers."""
