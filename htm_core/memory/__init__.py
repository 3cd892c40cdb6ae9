"""The public class `Memory`, its awaited twin, and the opening of one."""
