"""What texture and surface instructions compute: functions in IR, each once in a module.

A texture object is the address of a record in memory; see core/texture_record.py. The functions
read the record, so that one serves textures of every format, filter and address mode.
"""
