"""The commands of `sixnimmt`, a module each: its name, and what `common.Command` asks for. `training.cli.COMMANDS` lists them.

They are all imported whenever one is run, so they import what takes long where they use it.
"""
