"""What the dispatch library costs beside a direct call."""
