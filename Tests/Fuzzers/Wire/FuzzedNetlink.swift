@testable import Netlink

/// A datagram of rtnetlink: messages and attributes lie inside it, one behind the other, and nothing of it traps.
enum FuzzedNetlink {
    static func run(_ input: [UInt8]) {
        var reader = MessageReader(input, count: input.count)
        var end = 0
        while let message = reader.next() {
            precondition(message.body.lowerBound >= end + MessageReader.headerSize)
            precondition(message.body.upperBound <= input.count)
            end = message.body.upperBound
            _ = Decoder.group(of: message, in: input)
            if let number = Decoder.errorNumber(message, in: input) { precondition(number >= 0) }
            if let route = Decoder.route(message, in: input), let expiry = route.expiresAfter {
                precondition(expiry >= .zero)
            }
            if let link = Decoder.link(message, in: input) {
                // A byte that is no UTF-8 becomes three.
                precondition(link.name.utf8.count <= message.body.count * 3)
            }
            walkAttributes(input, message.body)
        }
    }

    private static func walkAttributes(_ input: [UInt8], _ body: Range<Int>) {
        var attributes = AttributeReader(input, in: body)
        var end = body.lowerBound
        while let attribute = attributes.next() {
            precondition(attribute.value.lowerBound >= end && attribute.value.upperBound <= body.upperBound)
            end = attribute.value.upperBound
        }
    }
}
