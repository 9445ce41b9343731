"""What the dispatch library costs compared with a direct call."""
