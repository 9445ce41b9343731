"""True if the suite accepts what is right: legal variants of functions are wrapped around a library, and must pass."""
