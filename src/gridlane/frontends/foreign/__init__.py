"""What a frontend has of others: the one place where they meet."""
