// The model of the queue's rules: a crash at each of its durable steps, and rules broken on purpose. Seeds by the
// thousand are run by `queue-simulation`, optimised (see Makefile).
//
// UPLINKD_MODEL_SEEDS=N runs more seeds; UPLINKD_MODEL_SEED=S runs that one.
