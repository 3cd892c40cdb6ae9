"""Quality of the judge of `htm_core.rules.supersession`, which tells what a newer saying does to an older one."""
