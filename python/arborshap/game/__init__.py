"""The game that is played: which columns a row has, who plays them, and what is computed."""
