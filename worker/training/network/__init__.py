"""The part of the trainer that needs PyTorch: only ``gougi train`` imports it, and nothing else imports torch."""
