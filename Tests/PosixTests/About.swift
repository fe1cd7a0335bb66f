// Tests of Posix.
