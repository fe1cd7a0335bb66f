internal import Bytes

/// Writes the Prometheus text format, version 0.0.4.
///
/// After "Exposition formats" of prometheus.io: a HELP and a TYPE line, then the samples of that metric; backslash,
/// quote and line feed escaped in label values.
struct MetricsWriter {
    enum Kind: String { case counter, gauge }

    private(set) var text: [UInt8] = []
    private var name = ""

    /// Begins a metric; `help` is one line.
    mutating func begin(_ metric: String, _ kind: Kind, _ help: String) {
        name = "uplink_" + metric
        text.append(utf8: "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n")
    }

    /// A sample of the metric begun last.
    mutating func sample(_ value: UInt64, _ labels: KeyValuePairs<String, String> = [:]) {
        open(labels)
        text.append(decimal: value)
        text.append("\n")
    }

    /// A sample of the metric begun last.
    mutating func sample(_ value: Double, _ labels: KeyValuePairs<String, String> = [:]) {
        open(labels)
        text.append(utf8: "\(value)\n")
    }

    /// A sample of the metric begun last: 1 or 0.
    mutating func sample(_ value: Bool, _ labels: KeyValuePairs<String, String> = [:]) {
        sample(value ? 1 : 0 as UInt64, labels)
    }

    private mutating func open(_ labels: KeyValuePairs<String, String>) {
        text.append(utf8: name)
        for (index, (label, value)) in labels.enumerated() {
            text.append(utf8: "\(index == 0 ? "{" : ",")\(label)=\"")
            for byte in value.utf8 {
                switch byte {
                case UInt8(ascii: "\\"): text.append("\\\\")
                case UInt8(ascii: "\""): text.append("\\\"")
                case UInt8(ascii: "\n"): text.append("\\n")
                default: text.append(byte)
                }
            }
            text.append("\"")
        }
        text.append(utf8: labels.isEmpty ? " " : "} ")
    }
}
