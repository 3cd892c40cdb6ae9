"""How well the judge of `htm_core.rules.supersession` tells what a newer saying does to an older one."""
