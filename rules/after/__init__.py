"""What the third door asks: budgets and accounts, the health of a provider, the patience of a client."""
