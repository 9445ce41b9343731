"""From the typed model to files in memory: one module per target, each a pure function that gives a `Plan`."""
