"""What was learned from a timing experiment: ratios with their intervals beside the operations in closed form."""
