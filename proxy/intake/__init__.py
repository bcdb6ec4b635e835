"""A request as it arrives: its body, its route, its wire."""
