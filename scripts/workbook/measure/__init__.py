"""What a server costs and how fast it is: numbers, and no opinion of them."""
