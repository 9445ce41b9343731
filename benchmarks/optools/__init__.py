"""Overhead of optools."""
