internal import Bytes

/// The name of an event, the same on every try: `<epoch, 16 hexadecimal digits>-<sequence, decimal>`.
package struct EventID: Hashable, Sendable {
    /// 64 random bits for each log at each start of the daemon, so that copied queues never share ids.
    package let epoch: UInt64
    /// The event's number in its log, from 1, without gaps.
    package let sequence: UInt64

    package init(epoch: UInt64, sequence: UInt64) {
        self.epoch = epoch
        self.sequence = sequence
    }

    /// Reads what `text` wrote; nil where it is anything else.
    package init?(text: [UInt8]) {
        guard text.count > 17, text[16] == UInt8(ascii: "-"), let epoch = Hexadecimal.value(text.prefix(16)),
            let sequence = UInt64(Array(text.dropFirst(17)).text)
        else { return nil }
        self.init(epoch: epoch, sequence: sequence)
    }

    /// Its text, 18 to 37 bytes.
    package var text: [UInt8] {
        var text = Hexadecimal.digits(epoch)
        text.append(UInt8(ascii: "-"))
        text.append(decimal: sequence)
        return text
    }
}
