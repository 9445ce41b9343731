"""The only room that touches the disk: a `Plan` is written, compared, listed or diffed here, never anywhere else."""
