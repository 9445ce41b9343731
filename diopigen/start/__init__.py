"""What is begun from what there is: an operator like another one."""
