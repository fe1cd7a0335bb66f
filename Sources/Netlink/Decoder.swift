internal import Bytes
internal import CLinux

/// Reads rtnetlink messages; what does not fit its rules is nil, never a trap.
enum Decoder {
    private static let familyUnspecified: UInt8 = 0
    private static let familyIPv4: UInt8 = 2
    private static let familyIPv6: UInt8 = 10

    /// The group that announces messages of this type; nil where it says nothing of routes, links or addresses.
    ///
    /// Address and route messages tell their family in their first byte.
    static func group(of message: Message) -> MulticastGroup? { nil }

    /// Reads the body of RTM_NEWROUTE.
    static func route(_ bytes: [UInt8], _ body: Range<Int>) -> Route? { nil }
}
