"""The forms of findings: text for people, and what CI systems and editors read."""
