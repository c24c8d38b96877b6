"""The part of the trainer that needs PyTorch. Only ``gougi train`` imports it, and nothing else of Gougi imports torch."""
