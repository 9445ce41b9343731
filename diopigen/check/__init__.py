"""What must hold across the spec. Each module is one family of rules; a new family is one new file."""
