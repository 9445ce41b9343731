"""Small models of public packages, randomly initialised: what `make test-models` trains."""
