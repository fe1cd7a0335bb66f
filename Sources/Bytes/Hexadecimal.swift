/// Lower-case hexadecimal digits.
package enum Hexadecimal {
    /// `value` in exactly `digits` digits, the most significant first.
    package static func digits(_ value: UInt64, count digits: Int = 16) -> [UInt8] {
        (0..<digits).map { place in
            let nibble = UInt8(truncatingIfNeeded: value >> UInt64(4 * (digits - 1 - place)) & 15)
            return nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
        }
    }

    /// The value of 1 to 16 digits of either case; nil for anything else.
    package static func value(_ digits: some Collection<UInt8>) -> UInt64? {
        guard (1...16).contains(digits.count) else { return nil }
        var value: UInt64 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | UInt64(digit - UInt8(ascii: "A") + 10)
            default: return nil
            }
        }
        return value
    }
}
