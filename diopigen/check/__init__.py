"""Rules over the spec. Each module is one family of rules; a new family is one new file."""
