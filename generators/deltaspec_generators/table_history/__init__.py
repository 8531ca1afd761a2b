"""Tables that explicit operations lay down: drawn tables choose the arguments, written tables state them."""
