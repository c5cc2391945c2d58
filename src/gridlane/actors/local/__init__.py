"""A launched actor in this process: its program, its part of the engine, its threads and ref."""
