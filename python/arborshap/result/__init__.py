"""What users receive: explanations, importances, and the frames they turn into."""
