"""Quality of the judgement of what a newer saying does to an older one."""
