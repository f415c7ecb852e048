"""Results: explanations, importances, and the frames made of them."""
