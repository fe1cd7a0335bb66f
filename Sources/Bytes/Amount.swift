/// Amounts as people read them.
package enum Amount {
    /// `900 B`, `12.3 MiB`, `512 MiB`.
    package static func bytes(_ value: Int64) -> String {
        guard value >= 1_024 else { return "\(value) B" }
        var amount = Double(value)
        var unit = ""
        for next in ["KiB", "MiB", "GiB", "TiB"] where amount >= 1_024 {
            amount /= 1_024
            unit = next
        }
        return "\(tenths(amount)) \(unit)"
    }

    /// `12.3`, `512`: no more than one digit behind the point.
    package static func tenths(_ value: Double) -> String {
        let scaled = Int64((value * 10).rounded())
        return scaled % 10 == 0 ? "\(scaled / 10)" : "\(scaled / 10).\(scaled % 10)"
    }
}
