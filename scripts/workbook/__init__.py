"""The command behind scripts/hotpath: builds, checks and measures the workbook's servers.

There is one package for each kind of work. Each package imports only from those above it in this
list (scripts/tests/repository/test_floors.py enforces this):

- common       what every package may use: errors, paths, children, statistics
- machine      what this machine has and lacks: its processors, its network, doctor, setup
- course       what the reader works through: chapters, starters, planted mistakes, progress
- servers      programs under test: building, running and talking to them
- measure      measures a server's costs and speed; returns numbers without judging them
- checks       what `check` judges, and how; `behaviour` has its cases
- figures      results to look at: tables, charts, pictures, the book's records
- authors      what only authors run: experiments, recording, mutation
- verbs        the command line, and what only one of its verbs needs
"""
