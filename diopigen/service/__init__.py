"""The suite as a service: requests with a library or sources, stages in order, a structured report of each."""
