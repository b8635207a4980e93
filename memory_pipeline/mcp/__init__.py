"""The server for agents: the memories over the Model Context Protocol, on standard input and output.

It looks at the database as it stands and never changes a memory. What it writes goes into the journal: which memories
were used, and, where the person allows it, notes that wait for their review. An agent sees the user's scope and the
project that it works in; what it is told is quoted as data.
"""
