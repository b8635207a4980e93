"""What people and agents ask of the memories, once they are there."""
