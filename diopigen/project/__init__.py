"""The project's own settings: `diopigen.yaml`, whose values are the defaults of options."""
