// Time: instants of the boot clock, wall-clock times, and their texts. Knows no clock itself.
//
// May import: nothing.
