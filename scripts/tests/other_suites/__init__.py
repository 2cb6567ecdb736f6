"""HTTP tests of other projects, replayed over a socket.

`packages` downloads the projects, `python_suites` and `rust_suites` extract the messages that their
tests parse, and `replay` sends these to a server and compares its answers with what each project
expects. `differences.toml` lists where our servers decide otherwise, and why.
"""
