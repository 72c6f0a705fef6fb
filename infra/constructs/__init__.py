"""One capability a construct; what others need of it is an attribute."""
