"""Whether the suite accepts what is right: legal variants of functions are planted around a library, and must pass."""
