"""The parts of the lab that `test.py` puts together. Standard library only."""
