"""The game: the columns of a row, the players that own them, and the indices that can be computed."""
