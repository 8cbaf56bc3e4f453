"""The side that talks to AWS, and the only one that loads boto3: connect, read, and later change."""
