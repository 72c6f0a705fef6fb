"""What every Lambda function of Turnlog does at its start, whatever it serves. Standard library only."""
