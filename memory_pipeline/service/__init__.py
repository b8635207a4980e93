"""Having the system run the daemon, or a pass now and then: what is installed, how it stands, how it is taken away."""
