// Tests of Reachability.
