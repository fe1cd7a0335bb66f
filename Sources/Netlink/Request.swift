internal import Bytes
internal import CLinux

/// Questions to the kernel, whole datagrams; header fields that do not matter are zero, as strict checking wants.
enum Request {
    /// RTM_GETROUTE for one address; `matching` sets RTM_F_FIB_MATCH.
    ///
    /// RTM_F_LOOKUP_TABLE, without which IPv4 says `main` of every table, is an error for IPv6.
    static func route(to address: IPAddress, matching: Bool, sequence: UInt32) -> [UInt8] {
        var body: [UInt8] = [
            address.isIPv6 ? Decoder.familyIPv6 : Decoder.familyIPv4, UInt8(address.bytes.count * 8),
        ]
        body.appendZeros(6)
        body.appendNative(
            (address.isIPv6 ? 0 : UInt32(RTM_F_LOOKUP_TABLE)) | (matching ? UInt32(RTM_F_FIB_MATCH) : 0))
        body.appendNative(UInt16(4 + address.bytes.count))
        body.appendNative(UInt16(RTA_DST.rawValue))
        body += address.bytes
        return datagram(type: UInt16(RTM_GETROUTE), flags: UInt16(NLM_F_REQUEST), sequence: sequence, body: body)
    }

    /// RTM_GETLINK for one link.
    static func link(_ index: UInt32, sequence: UInt32) -> [UInt8] {
        var body: [UInt8] = []
        body.appendZeros(4)
        body.appendNative(index)
        body.appendZeros(8)
        return datagram(type: UInt16(RTM_GETLINK), flags: UInt16(NLM_F_REQUEST), sequence: sequence, body: body)
    }

    /// RTM_GETLINK for all links.
    static func links(sequence: UInt32) -> [UInt8] {
        datagram(
            type: UInt16(RTM_GETLINK), flags: UInt16(NLM_F_REQUEST | NLM_F_DUMP), sequence: sequence,
            body: [UInt8](repeating: 0, count: 16))
    }

    private static func datagram(type: UInt16, flags: UInt16, sequence: UInt32, body: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendNative(UInt32(MessageReader.headerSize + body.count))
        bytes.appendNative(type)
        bytes.appendNative(flags)
        bytes.appendNative(sequence)
        bytes.appendNative(UInt32(0))
        return bytes + body
    }
}
