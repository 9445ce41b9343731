"""All rules: what each is for, a bad and a good example, and the page that explains it."""
