// Tests of Queue.
