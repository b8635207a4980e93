"""The doctor: looks at everything that can be wrong, says what it is and what to do, and changes nothing."""
