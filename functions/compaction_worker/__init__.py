"""The Lambda function that compacts sessions whose policy asks for it: from the table's stream, and by the clock."""
