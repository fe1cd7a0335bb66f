// Version: the version that both programs show.
//
// May import: nothing.
