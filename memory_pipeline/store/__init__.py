"""SQLite: everything that is kept in the database; no row, cursor or SQLite type leaves this room."""
