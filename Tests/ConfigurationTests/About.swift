// Tests of Configuration.
