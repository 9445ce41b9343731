"""The interface for other tools: `diopi.json`, and JSON Schemas of the files that people write."""
