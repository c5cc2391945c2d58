"""What users declare of actors: messages, states, handlers, options, names and topics."""
