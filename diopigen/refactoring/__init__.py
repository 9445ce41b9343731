"""Changes of an interface that reach all files which name what changes: renames and removals, as edits of texts."""
