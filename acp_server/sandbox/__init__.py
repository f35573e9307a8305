"""What a tool may touch: policies, their enforcement by the kernel, and the environment of commands."""
