"""What a person sees of the program from outside: the status, the chronicle, the doctor's checks, the metrics."""
