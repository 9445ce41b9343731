"""The program in the place of diopi-executor that calls ATen. Its modules need torch, which diopigen does not."""
