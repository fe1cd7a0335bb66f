// uplinkctl: the operator's tool's entry.
//
// May import: ControlClient, Version.
