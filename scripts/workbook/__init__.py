"""The command behind scripts/hotpath: builds, checks and measures the workbook's servers.

A package a kind of work, each of which imports only from those above it in this list
(scripts/tests/repository/test_floors.py holds it to that):

- common       what everybody may use: errors, paths, children, statistics
- machine      what this machine has and lacks: its processors, its network, doctor, setup
- course       what the reader works through: chapters, starters, planted mistakes, progress
- servers      programs under test: building, running and talking to them
- measure      what a server costs and how fast it is: numbers, and no opinion of them
- checks       what `check` judges, and how; `behaviour` has its cases
- figures      results to look at: tables, charts, pictures, the book's records
- experiments  the small experiments of the book
- verbs        the command line, and what only one of its verbs needs
"""
