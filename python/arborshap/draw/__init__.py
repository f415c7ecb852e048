"""What people look at: one file per plot, and one for the style that all share."""
