"""The Lambda function that carries out the steps of a summarising compaction, called by the state machine."""
