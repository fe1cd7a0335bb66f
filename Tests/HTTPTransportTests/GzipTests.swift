import Bytes
import CZlib
import HTTPTransport
import Posix
import Reactor
import Testing

@testable import Delivery

struct GzipTests {
    /// What a gzip text stands for; nil where it is none.
    private func inflated(_ compressed: [UInt8], count: Int) -> [UInt8]? {
        var compressed = compressed
        var body = [UInt8](repeating: 0, count: count + 1)
        var stream = z_stream()
        let gzipOnly: Int32 = 15 + 16
        guard inflateInit2_(&stream, gzipOnly, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            return nil
        }
        defer { inflateEnd(&stream) }
        let result = compressed.withUnsafeMutableBufferPointer { input in
            body.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                return inflate(&stream, Z_FINISH)
            }
        }
        guard result == Z_STREAM_END, stream.avail_in == 0 else { return nil }
        return Array(body.prefix(Int(stream.total_out)))
    }

    private func events(_ count: Int, seed: UInt64) -> [UInt8] {
        var random = SplitMix64(seed: seed)
        var body: [UInt8] = []
        while body.count < count {
            body.append(utf8: "{\"event\":\"reading\",\"value\":\(UInt16.random(in: 0...999, using: &random))}\n")
        }
        return Array(body.prefix(count))
    }

    @Test(arguments: [1_024, 65_535, 65_536, 65_537, 300_000], [1, 6])
    func aCompressedBodyIsTheBody(count: Int, level: Int) throws {
        let rig = try Rig()
        let body = events(count, seed: UInt64(count))
        #expect(try rig.outcome(of: rig.send(body, gzipLevel: level))?.answer?.status == 200)
        let request = try #require(rig.server.requests.first)
        #expect(request.fields["content-encoding"] == "gzip")
        #expect(request.fields["content-length"] == "\(request.body.count)")
        #expect(request.body.count < body.count / 2)
        #expect(inflated(request.body, count: count) == body)
    }

    @Test func equalBodiesGiveEqualBytesWhateverElseIsCompressed() throws {
        let rig = try Rig()
        let bodies = [200_000, 2_000, 70_000].map { events($0, seed: UInt64($0)) }
        let order = [0, 1, 2, 0, 2, 1, 1, 0, 0]
        let ids = try order.map { try rig.send(bodies[$0], gzipLevel: $0 == 1 ? 9 : 1) }
        for id in ids { _ = try rig.outcome(of: id) }
        // Requests run at once, so they may arrive in any order.
        let received = rig.server.requests.map(\.body)
        #expect(received.count == order.count)
        #expect(Set(received).count == bodies.count)
        #expect(received.allSatisfy { $0[4..<8].allSatisfy { $0 == 0 } }, "the header's time is zero")
        #expect(bodies.allSatisfy { body in received.contains { inflated($0, count: body.count) == body } })
    }

    @Test func shortBodiesGoAsTheyAre() throws {
        let rig = try Rig()
        let body = events(1_023, seed: 9)
        _ = try rig.outcome(of: rig.send(body, gzipLevel: 1))
        #expect(rig.server.requests.first?.body == body)
        #expect(rig.server.requests.first?.fields["content-encoding"] == nil)
    }

    @Test func aTurnCompressesOneSlice() throws {
        let rig = try Rig()
        let turns = rig.loop.turns
        let id = try rig.send(events(65_536 * 10, seed: 10), gzipLevel: 1)
        try rig.turn { rig.server.connectionCount > 0 }
        #expect(rig.loop.turns - turns >= 10)
        #expect(try rig.outcome(of: id)?.answer?.status == 200)
    }

    @Test func whatIsCancelledIsNotSent() throws {
        let rig = try Rig()
        let first = try rig.send(events(200_000, seed: 11), gzipLevel: 1)
        let second = try rig.send(events(2_000, seed: 12), gzipLevel: 1)
        try rig.loop.turn(limit: .zero)
        rig.transport?.cancel(first)
        #expect(try rig.outcome(of: second)?.answer?.status == 200)
        #expect(rig.server.requests.count == 1)
        #expect(rig.outcomes[first] == nil)
    }
}
